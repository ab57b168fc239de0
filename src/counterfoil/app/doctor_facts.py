"""What `doctor` looks at: live settings, the places of the files, the marker, and a few counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.app.doctor_artifacts import lost_artifacts, named_artifacts
from counterfoil.app.drills import unattended_of
from counterfoil.app.located import InFile, Located
from counterfoil.app.machine import Place as Disk
from counterfoil.app.machine import place_of
from counterfoil.app.signing import key_here
from counterfoil.app.webhooks.declared import without_secret
from counterfoil.engine.clock import boot_id, host_name
from counterfoil.engine.locks import holder_is_gone
from counterfoil.engine.opened import Opened
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import CounterfoilError
from counterfoil.model.installation import InstallationRecord, SuspensionRecord, WorkerRecord
from counterfoil.rules.signing import Keys, keys_of
from counterfoil.store.marker import Difference
from counterfoil.store.postgres_facts import PostgresSettings
from counterfoil.store.sqlite_settings import SqliteSettings, lock_holders


@dataclass(frozen=True, slots=True)
class Facts:
    """`marker`: what its comparison says, None when it is as it must be; `marker_problem`: why it cannot be read.

    `key_here`: whether this process holds a private key that counts; None where there is no file.
    """

    settings: SqliteSettings | PostgresSettings
    place: Disk | None
    state: Path | None
    marker_place: Disk | None
    marker: Difference | None
    marker_problem: str | None
    installation: InstallationRecord
    lock_holders: list[int]
    now_us: int
    host_us: int
    clock_jumped: bool
    workers_alive: list[WorkerRecord]
    people: int
    suspensions: list[SuspensionRecord]
    unattended: list[dict[str, Any]]
    unresolved: int
    overdue_reviews: int
    artifacts_named: int
    artifacts_lost: list[str]
    workflows: list[str]
    host: str
    boot: str
    keys: Keys
    key_here: bool | None
    orphans: dict[str, int]
    webhooks_without_secret: list[str]

    @property
    def lies_with_marker(self) -> bool:
        """Whether one snapshot can take database and marker back together. What a server's disk is, nobody here can see."""
        if self.marker_place is None:
            return True
        if isinstance(self.settings, PostgresSettings):
            return self.settings.same_host
        return self.place is not None and self.marker_place.device == self.place.device


def facts_of(opened: Opened, where: Located, state: Path | None) -> Facts:
    """Raises Refused or StorageError where the database cannot be read or opened for writing."""
    installation = opened.installation()
    marker, problem = _marker(opened)
    with opened.read() as reader:
        people = [person for person in reader.lists.people() if person.revoked_at is None]
        workers = [worker for worker in reader.lists.workers() if worker.stopped_at is None]
        suspensions = [suspension for suspension in reader.lists.suspensions() if suspension.lifted_at is None]
        unresolved = len(reader.unresolved())
        now = opened.clock.now_us()
        overdue = sum(review.expires_at <= now for review in reader.open_reviews())
        named = named_artifacts(reader)
        orphans = reader.received.orphans()
        keys = keys_of(opened.installation_id, reader.rows(ApprovalKeyRecord))
    return Facts(
        settings=where.settings(),
        place=place_of(where.path) if isinstance(where, InFile) else None,
        state=state,
        marker_place=None if opened.marker is None or state is None else place_of(state),
        marker=marker,
        marker_problem=problem,
        installation=installation,
        lock_holders=lock_holders(where.path) if isinstance(where, InFile) else [],
        now_us=now,
        host_us=opened.clock.now_us(),
        clock_jumped=opened.clock_jumped(),
        workers_alive=[worker for worker in workers if not holder_is_gone(opened.locks, worker)],
        people=len(people),
        suspensions=suspensions,
        unattended=unattended_of(opened),
        unresolved=unresolved,
        overdue_reviews=overdue,
        artifacts_named=len(named),
        artifacts_lost=lost_artifacts(opened.artifacts, named),
        workflows=sorted(f"{name} {version}" for name, version in opened.registry.workflows),
        host=host_name(),
        boot=boot_id(),
        keys=keys,
        key_here=key_here(opened.location, keys),
        orphans=orphans,
        webhooks_without_secret=without_secret(opened),
    )


def _marker(opened: Opened) -> tuple[Difference | None, str | None]:
    if opened.marker is None:
        return None, None
    try:
        return opened.compared()[2], None
    except CounterfoilError as problem:
        return None, problem.message
