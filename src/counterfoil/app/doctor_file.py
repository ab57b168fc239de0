"""What `doctor` says where the ledger is one SQLite file: the storage, its checks and its promises."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.app.doctor_words import Check, Status, either, promise
from counterfoil.app.machine import Place
from counterfoil.store.migrate import newest
from counterfoil.store.sqlite_settings import SqliteSettings

LITTLE_SPACE, NO_SPACE = 1 << 30, 64 << 20  # bytes


def storage_of(settings: SqliteSettings, place: Place) -> dict[str, Any]:
    """The storage as `doctor` shows it."""
    return {
        "backend": "sqlite",
        "version": settings.library,
        "synchronous": settings.synchronous,
        "journal_mode": settings.journal_mode,
        "schema_version": settings.schema_version,
        "bytes": settings.bytes,
        "filesystem": place.filesystem,
        "ephemeral": place.ephemeral,
        "replicas": 0,
    }


def database_checks(settings: SqliteSettings, lock_holders: list[int]) -> Iterator[Check]:
    """Whether the file keeps what is committed, and who writes it."""
    yield either(
        settings.schema_version == newest(), "schema_version", f"The schema is {newest()}, as this code writes it.", "refuse",
        f"The schema is {settings.schema_version}; this code writes {newest()}.", "Use the release that fits the database.",
    )  # fmt: skip
    flushed = settings.synchronous in ("full", "extra") and settings.journal_mode == "wal"
    yield either(
        flushed, "synchronous", "Every commit is flushed before anybody is answered.", "refuse",
        f"synchronous is {settings.synchronous} and the journal is {settings.journal_mode}: a commit may be lost.",
        "Open the database with this library only; it sets both.",
    )  # fmt: skip
    holders = ", ".join(f"process {pid}" for pid in lock_holders) or "a process that this host does not name"
    yield either(
        settings.write_lock_free, "write_lock", "The write lock is free.", "warn",
        f"The write lock is held by {holders}.", "If it stays held, look at that process; a commit takes milliseconds.",
    )  # fmt: skip


def place_checks(place: Place, production: bool) -> Iterator[Check]:
    """Whether the file lies well."""
    yield either(
        not place.ephemeral, "filesystem_ephemeral", f"The database lies on {place.filesystem}.", "refuse" if production else "warn",
        f"The database lies on {place.filesystem}, which goes with the machine's boot or its container.",
        "Put it on a volume that outlives them.",
    )  # fmt: skip
    yield either(
        not place.remote, "filesystem_remote", "The database's file system is local.", "refuse",
        f"The database lies on {place.filesystem}: its locks and flushes are not to be trusted between hosts.",
        "Put it on a local disk.",
    )  # fmt: skip
    free = place.free_bytes
    status: Status = "ok" if free >= LITTLE_SPACE else "warn" if free >= NO_SPACE else "refuse"
    fix = None if status == "ok" else "Free space before the disk is full; then nothing is stored and nothing sent."
    yield Check("disk_space", status, f"{free >> 20} MiB are free.", fix)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the promises of a file rest on. `state`: the marker's folder."""

    settings: SqliteSettings
    place: Place
    host: str
    state: Path | None


def promises_of(facts: FileFacts) -> dict[str, dict[str, Any]]:
    """The promises that depend on the file and its place, by failure."""
    parts = (_process_exits, _machine_lost, _power_lost, _region_lost, _history_grows)
    return {part["failure"]: part for part in (of(facts) for of in parts)}


def _settings(facts: FileFacts) -> str:
    s = facts.settings
    return f"journal_mode={s.journal_mode} synchronous={s.synchronous} fullfsync={int(s.fullfsync)}, SQLite {s.library}"


def _process_exits(facts: FileFacts) -> dict[str, Any]:
    return promise(
        "process_exits",
        "yes",
        "Each step, decision and attempt is committed before anything rests on it.",
        _settings(facts),
        None,
    )


def _machine_lost(facts: FileFacts) -> dict[str, Any]:
    return promise(
        "machine_lost", "no", "The ledger is one file on one machine, and nothing copies it.",
        f"backend sqlite, replicas 0, {facts.place.filesystem} on host {facts.host}",
        "Copy the file continuously, or keep it on a replicated volume; after the loss, `counterfoil restore status`.",
    )  # fmt: skip


def _power_lost(facts: FileFacts) -> dict[str, Any]:
    evidence = f"{_settings(facts)}, {facts.place.filesystem}"
    if facts.place.ephemeral:
        return promise(
            "power_lost", "no", f"{facts.place.filesystem} does not outlive the machine's boot or its container.", evidence,
            "Put the database on a disk that does.",
        )  # fmt: skip
    if facts.settings.synchronous not in ("full", "extra"):
        return promise("power_lost", "no", "Commits are not flushed.", evidence, "Set synchronous=FULL.")
    return promise(
        "power_lost", "yes", "Every commit is flushed before anybody is answered, if the disk keeps what it flushed.", evidence,
        "A disk whose write cache is protected or off.",
    )  # fmt: skip


def _region_lost(facts: FileFacts) -> dict[str, Any]:
    marker = "no marker" if facts.state is None else f"marker in {facts.state}"
    return promise(
        "region_lost", "no", "Database and marker are on this host.", f"replicas 0, {marker}",
        "Keep a copy in another region, and the marker with it.",
    )  # fmt: skip


def _history_grows(facts: FileFacts) -> dict[str, Any]:
    return promise(
        "history_grows", "if", "A claim goes by an index and ended runs are never scanned; the file grows with its entries.",
        f"{facts.settings.bytes} bytes now, {facts.place.free_bytes} bytes free", "Watch the free space.",
    )  # fmt: skip
