"""`doctor`: the storage promise in force, read from live settings, and what is wrong with this installation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterfoil.app import doctor_file, doctor_server
from counterfoil.app.doctor_checks import checks_of, refusal
from counterfoil.app.doctor_facts import Facts, facts_of
from counterfoil.app.doctor_promises import promises_of
from counterfoil.app.doctor_words import Check
from counterfoil.app.located import Located
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.postgres_facts import PostgresSettings

FAILED = "refuse"


def doctor(
    opened: Callable[[], Opened], *, where: Located, state: Path | None, production: bool = False
) -> dict[str, Any]:
    """`{storage, promises, checks, unattended}` as cli.md says; exit 1 when a check says refuse. Never raises Refused.

    `where`: the database's place. `state`: the folder of the outside marker, None without one. `production`: what is
    merely a warning on a laptop (a marker on the same disk, a file system that goes with its container) is refused.
    """
    facts: Facts | None = None
    try:
        facts = facts_of(opened(), where, state)
        checks = checks_of(facts, production=production)
    except CounterfoilError as problem:
        checks = [refusal(problem, where.shown)]
    return {
        "storage": _storage(facts, where),
        "promises": promises_of(facts),
        "checks": [_check(check) for check in checks],
        "unattended": [] if facts is None else facts.unattended,
    }


def _check(check: Check) -> dict[str, Any]:
    return {"code": check.code, "status": check.status, "message": check.message, "fix": check.fix}


def _storage(facts: Facts | None, where: Located) -> dict[str, Any]:
    places: list[str] = []
    if facts is None:
        unknown = ("version", "synchronous", "journal_mode", "schema_version", "bytes", "filesystem", "ephemeral")
        known = dict.fromkeys(unknown) | {"backend": where.backend, "replicas": 0}
    elif isinstance(facts.settings, PostgresSettings):
        known = doctor_server.storage_of(facts.settings)
    else:
        assert facts.place is not None, "a file lies somewhere"
        known = doctor_file.storage_of(facts.settings, facts.place)
    if facts is not None and facts.marker_place is not None:
        places.append(str(facts.state))
    return known | {"location": where.shown, "marker_places": places}
