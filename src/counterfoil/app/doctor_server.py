"""What `doctor` says where the ledger is on a PostgreSQL server: the storage, its checks and its promises."""

from collections.abc import Iterator
from typing import Any

from counterfoil.app.doctor_words import Check, either, promise
from counterfoil.store.migrate import newest
from counterfoil.store.postgres_facts import PostgresSettings

CLOCKS_APART_US = 5 * 1_000_000


def storage_of(settings: PostgresSettings) -> dict[str, Any]:
    """The storage as `doctor` shows it."""
    return {
        "backend": "postgres",
        "version": settings.version,
        "synchronous": settings.synchronous_commit,
        "journal_mode": f"wal_level {settings.wal_level}",
        "schema_version": settings.schema_version,
        "bytes": settings.bytes,
        "filesystem": None,
        "ephemeral": None,
        "replicas": len(settings.standbys),
    }


def checks_of(settings: PostgresSettings, now_us: int) -> Iterator[Check]:
    """Whether the server keeps what it answers, and whether its clock and this host's agree."""
    yield either(
        settings.schema_version == newest(), "schema_version", f"The schema is {newest()}, as this code writes it.", "refuse",
        f"The schema is {settings.schema_version}; this code writes {newest()}.", "Use the release that fits the database.",
    )  # fmt: skip
    yield either(
        settings.fsync and settings.full_page_writes, "synchronous", "Every commit is flushed before anybody is answered.", "refuse",
        f"fsync is {_word(settings.fsync)}, full_page_writes {_word(settings.full_page_writes)}: a power cut may lose or damage commits.",
        "Set both to on in postgresql.conf.",
    )  # fmt: skip
    yield either(
        settings.configured != "off", "synchronous_commit", f"synchronous_commit is {settings.configured}.", "warn",
        "synchronous_commit is off at the server; our own commits set it to on.", "Set it to on, so that nobody is surprised.",
    )  # fmt: skip
    named = settings.synchronous_standby_names
    yield either(
        not named or settings.confirmed > 0, "standbys",
        f"{len(settings.standbys)} standbys, {settings.confirmed} of them confirm each commit before it is answered.", "warn",
        f"synchronous_standby_names is {named}, and no standby that confirms is seen: commits wait, or this role may not see it.",
        "Look at pg_stat_replication; grant pg_monitor to the role that the doctor uses.",
    )  # fmt: skip
    yield either(
        settings.turn_free, "write_lock", "The lock of the batches is free.", "warn",
        f"The lock of the batches is held by {', '.join(settings.turn_holders) or 'somebody'}.",
        "A commit takes milliseconds; the server ends a holder that is silent for seconds.",
    )  # fmt: skip
    apart = abs(settings.clock_us - now_us)
    yield either(
        apart <= CLOCKS_APART_US, "server_clock", "The server's clock and this host's agree.", "warn",
        f"The server's clock and this host's differ by {apart // 1_000_000} s: waits here end too early or too late.",
        "Set both by the same time service.",
    )  # fmt: skip


def promises_of(settings: PostgresSettings) -> dict[str, dict[str, Any]]:
    """The promises that depend on the server, by failure."""
    s = settings
    evidence = (
        f"PostgreSQL {s.version}, fsync={_word(s.fsync)} synchronous_commit={s.synchronous_commit} wal_level={s.wal_level} "
        f"synchronous_standby_names='{s.synchronous_standby_names}', standbys: {', '.join(s.standbys) or 'none seen'}"
    )
    return {
        "process_exits": promise(
            "process_exits", "yes", "Each step, decision and attempt is committed before anything rests on it.", evidence, None
        ),
        "machine_lost": _machine_lost(s, evidence),
        "power_lost": promise(
            "power_lost", "yes", "Every commit is flushed before anybody is answered, if the server's disk keeps what it flushed.",
            evidence, "A disk whose write cache is protected or off.",
        )
        if s.fsync and s.full_page_writes
        else promise("power_lost", "no", "The server does not flush what it commits.", evidence, "Set fsync and full_page_writes to on."),
        "region_lost": promise(
            "region_lost", "if", "Only if a standby that confirms commits is in another region; the server does not say where it is.",
            evidence, "Keep such a standby in another region, and a copy of the marker.",
        )
        if s.confirmed
        else promise(
            "region_lost", "no", "No standby confirms commits, in this region or in another.", evidence,
            "Keep a synchronous standby in another region, and a copy of the marker.",
        ),
        "history_grows": promise(
            "history_grows", "if", "A claim goes by an index and ended runs are never scanned; the tables grow with the entries.",
            f"{s.bytes} bytes in the database", "Watch the server's free space.",
        ),
    }  # fmt: skip


def _machine_lost(s: PostgresSettings, evidence: str) -> dict[str, Any]:
    if s.confirmed and s.synchronous_commit in ("on", "remote_apply"):
        return promise(
            "machine_lost",
            "yes",
            "A standby has flushed each commit before it is answered; promoted, it holds all of them.",
            evidence,
            None,
        )
    if s.confirmed:
        return promise(
            "machine_lost", "if", "A standby has taken each commit before it is answered, not yet flushed it: not if both are lost.",
            evidence, "Set synchronous_commit to on.",
        )  # fmt: skip
    if s.standbys:
        return promise(
            "machine_lost", "if", "A standby may lack the newest commits; promoted, it is recognised as a restore by the marker.",
            evidence, "Name it in synchronous_standby_names.",
        )  # fmt: skip
    return promise(
        "machine_lost", "no", "The server has no standby.", evidence,
        "Add one and name it in synchronous_standby_names; after the loss, `counterfoil restore status`.",
    )  # fmt: skip


def _word(on: bool) -> str:
    return "on" if on else "off"
