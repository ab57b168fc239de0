"""The storage promise in force: for each of eight failures, what survives it here, and why."""

from typing import Any, Literal

from counterfoil.app.doctor_facts import Facts

Survives = Literal["yes", "no", "if"]
FAILURES = (
    "process_exits", "machine_lost", "power_lost", "region_lost", "workers_overlap", "code_redeployed", "backup_restored",
    "history_grows",
)  # fmt: skip


def promises_of(facts: Facts | None) -> list[dict[str, Any]]:
    """`[{failure, survives, because, evidence, improve}]`, always the eight. Without facts nothing is promised."""
    if facts is None:
        closed = "The database could not be opened, so nothing is promised."
        return [_promise(failure, "no", closed, "see checks", "Mend what the checks name.") for failure in FAILURES]
    return [
        _process_exits(facts), _machine_lost(facts), _power_lost(facts), _region_lost(facts), _workers_overlap(facts),
        _code_redeployed(facts), _backup_restored(facts), _history_grows(facts),
    ]  # fmt: skip


def _promise(failure: str, survives: Survives, because: str, evidence: str, improve: str | None) -> dict[str, Any]:
    return {"failure": failure, "survives": survives, "because": because, "evidence": evidence, "improve": improve}


def _settings(facts: Facts) -> str:
    s = facts.settings
    return f"journal_mode={s.journal_mode} synchronous={s.synchronous} fullfsync={int(s.fullfsync)}, SQLite {s.library}"


def _process_exits(facts: Facts) -> dict[str, Any]:
    return _promise(
        "process_exits",
        "yes",
        "Each step, decision and attempt is committed before anything rests on it.",
        _settings(facts),
        None,
    )


def _machine_lost(facts: Facts) -> dict[str, Any]:
    return _promise(
        "machine_lost", "no", "The ledger is one file on one machine, and nothing copies it.",
        f"backend sqlite, replicas 0, {facts.place.filesystem} on host {facts.host}",
        "Copy the file continuously, or keep it on a replicated volume; after the loss, `counterfoil restore status`.",
    )  # fmt: skip


def _power_lost(facts: Facts) -> dict[str, Any]:
    evidence = f"{_settings(facts)}, {facts.place.filesystem}"
    if facts.place.ephemeral:
        return _promise(
            "power_lost", "no", f"{facts.place.filesystem} does not outlive the machine's boot or its container.", evidence,
            "Put the database on a disk that does.",
        )  # fmt: skip
    if facts.settings.synchronous not in ("full", "extra"):
        return _promise("power_lost", "no", "Commits are not flushed.", evidence, "Set synchronous=FULL.")
    return _promise(
        "power_lost", "yes", "Every commit is flushed before anybody is answered, if the disk keeps what it flushed.", evidence,
        "A disk whose write cache is protected or off.",
    )  # fmt: skip


def _region_lost(facts: Facts) -> dict[str, Any]:
    marker = "no marker" if facts.state is None else f"marker in {facts.state}"
    return _promise(
        "region_lost", "no", "Database and marker are on this host.", f"replicas 0, {marker}",
        "Keep a copy in another region, and the marker with it.",
    )  # fmt: skip


def _workers_overlap(facts: Facts) -> dict[str, Any]:
    if facts.place.remote:
        return _promise(
            "workers_overlap", "no", f"Locks on {facts.place.filesystem} do not hold between hosts.", facts.place.filesystem,
            "Put the database on a local disk.",
        )  # fmt: skip
    return _promise(
        "workers_overlap", "yes", "Each commit of a worker compares its fence; a process lock proves a sender gone.",
        f"{len(facts.workers_alive)} workers alive, incarnation {facts.installation.incarnation}, boot {facts.boot}", None,
    )  # fmt: skip


def _code_redeployed(facts: Facts) -> dict[str, Any]:
    return _promise(
        "code_redeployed", "yes", "Replay compares name and input of each call; a run that the code cannot understand is parked.",
        f"workflows here: {', '.join(facts.workflows) or 'none'}",
        "Keep a worker with the old version until its runs have ended.",
    )  # fmt: skip


def _backup_restored(facts: Facts) -> dict[str, Any]:
    if facts.marker_place is None:
        return _promise(
            "backup_restored", "no", "Nothing outside the database says how far sending had come.", "no outside marker",
            "Initialise with an outside marker; after a restore, `counterfoil restore status`.",
        )  # fmt: skip
    evidence = f"marker in {facts.state} at commit {facts.installation.in_flight_batch}"
    if facts.marker_place.device == facts.place.device:
        return _promise(
            "backup_restored", "if", "It is recognised, unless one snapshot takes database and marker back together.",
            f"{evidence}, on the database's file system", "Set COUNTERFOIL_STATE to a folder on another volume.",
        )  # fmt: skip
    return _promise(
        "backup_restored", "yes", "The marker is ahead of a restored database, and sending stops until a person finishes it.",
        f"{evidence}, on another file system", None,
    )  # fmt: skip


def _history_grows(facts: Facts) -> dict[str, Any]:
    return _promise(
        "history_grows", "if", "A claim goes by an index and ended runs are never scanned; the file grows with its entries.",
        f"{facts.settings.bytes} bytes now, {facts.place.free_bytes} bytes free", "Watch the free space.",
    )  # fmt: skip
