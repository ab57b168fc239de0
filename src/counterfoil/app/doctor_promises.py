"""The storage promise in force: for each of eight failures, what survives it here, and why."""

from typing import Any

from counterfoil.app import doctor_file, doctor_server
from counterfoil.app.doctor_facts import Facts
from counterfoil.app.doctor_words import promise
from counterfoil.store.postgres_facts import PostgresSettings

FAILURES = (
    "process_exits", "machine_lost", "power_lost", "region_lost", "workers_overlap", "code_redeployed", "backup_restored",
    "history_grows",
)  # fmt: skip


def promises_of(facts: Facts | None) -> list[dict[str, Any]]:
    """`[{failure, survives, because, evidence, improve}]`, always the eight. Without facts nothing is promised."""
    if facts is None:
        closed = "The database could not be opened, so nothing is promised."
        return [promise(failure, "no", closed, "see checks", "Mend what the checks name.") for failure in FAILURES]
    stored = _of_storage(facts)
    stored |= {
        part["failure"]: part for part in (_workers_overlap(facts), _code_redeployed(facts), _backup_restored(facts))
    }
    return [stored[failure] for failure in FAILURES]


def _of_storage(facts: Facts) -> dict[str, dict[str, Any]]:
    if isinstance(facts.settings, PostgresSettings):
        return doctor_server.promises_of(facts.settings)
    assert facts.place is not None, "a file lies somewhere"
    return doctor_file.promises_of(doctor_file.FileFacts(facts.settings, facts.place, facts.host, facts.state))


def _workers_overlap(facts: Facts) -> dict[str, Any]:
    if facts.place is not None and facts.place.remote:
        return promise(
            "workers_overlap", "no", f"Locks on {facts.place.filesystem} do not hold between hosts.", facts.place.filesystem,
            "Put the database on a local disk.",
        )  # fmt: skip
    return promise(
        "workers_overlap", "yes", "Each commit of a worker compares its fence; a process lock proves a sender gone.",
        f"{len(facts.workers_alive)} workers alive, incarnation {facts.installation.incarnation}, boot {facts.boot}", None,
    )  # fmt: skip


def _code_redeployed(facts: Facts) -> dict[str, Any]:
    return promise(
        "code_redeployed", "yes", "Replay compares name and input of each call; a run that the code cannot understand is parked.",
        f"workflows here: {', '.join(facts.workflows) or 'none'}",
        "Keep a worker with the old version until its runs have ended.",
    )  # fmt: skip


def _backup_restored(facts: Facts) -> dict[str, Any]:
    if facts.marker_place is None:
        return promise(
            "backup_restored", "no", "Nothing outside the database says how far sending had come.", "no outside marker",
            "Initialise with an outside marker; after a restore, `counterfoil restore status`.",
        )  # fmt: skip
    evidence = f"marker in {facts.state} at commit {facts.installation.in_flight_batch}"
    if facts.lies_with_marker:
        return promise(
            "backup_restored", "if", "It is recognised, unless one snapshot takes database and marker back together.",
            f"{evidence}, on the database's file system", "Set COUNTERFOIL_STATE to a folder on another volume.",
        )  # fmt: skip
    return promise(
        "backup_restored", "yes", "The marker is ahead of a restored database, and sending stops until a person finishes it.",
        f"{evidence}, on another file system", None,
    )  # fmt: skip
