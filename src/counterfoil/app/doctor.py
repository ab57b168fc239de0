"""`doctor`: the storage promise in force, read from live settings, and what is wrong with this installation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterfoil.app.doctor_checks import Check, checks_of, refusal
from counterfoil.app.doctor_facts import Facts, facts_of
from counterfoil.app.doctor_promises import promises_of
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import CounterfoilError

FAILED = "refuse"


def doctor(
    opened: Callable[[], Opened], *, location: Path, state: Path | None, production: bool = False
) -> dict[str, Any]:
    """`{storage, promises, checks, unattended}` as cli.md says; exit 1 when a check says refuse. Never raises Refused.

    `location`: the database's file. `state`: the folder of the outside marker, None without one. `production`: what is
    merely a warning on a laptop (a marker on the same disk, a file system that goes with its container) is refused.
    """
    facts: Facts | None = None
    try:
        facts = facts_of(opened(), location, state)
        checks = checks_of(facts, production=production)
    except CounterfoilError as problem:
        checks = [refusal(problem, location)]
    return {
        "storage": _storage(facts, location),
        "promises": promises_of(facts),
        "checks": [_check(check) for check in checks],
        "unattended": [] if facts is None else facts.unattended,
    }


def _check(check: Check) -> dict[str, Any]:
    return {"code": check.code, "status": check.status, "message": check.message, "fix": check.fix}


def _storage(facts: Facts | None, location: Path) -> dict[str, Any]:
    if facts is None:
        unknown = ("version", "synchronous", "journal_mode", "schema_version", "bytes", "filesystem", "ephemeral")
        nowhere: list[str] = []
        return dict.fromkeys(unknown) | {
            "backend": "sqlite",
            "location": str(location),
            "replicas": 0,
            "marker_places": nowhere,
        }
    places: list[str] = [] if facts.marker_place is None else [str(facts.state)]
    return {
        "backend": "sqlite",
        "version": facts.settings.library,
        "location": str(location),
        "synchronous": facts.settings.synchronous,
        "journal_mode": facts.settings.journal_mode,
        "schema_version": facts.settings.schema_version,
        "bytes": facts.settings.bytes,
        "filesystem": facts.place.filesystem,
        "ephemeral": facts.place.ephemeral,
        "replicas": 0,
        "marker_places": places,
    }
