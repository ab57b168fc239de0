"""Which hosts work with a ledger: each has an outside marker of its own, and those that have one answer for the ledger to a new one.

No evidence: what a host is worth stands in its state folder, and these rows are put back with the database.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model.installation import HostRecord, LostRunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class KeepHost(RunVerb):
    """This host has a marker of the ledger now, which follows this timeline of the server."""

    host: HostRecord
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(HostRecord, self.host.host_id),)

    def decide(self, tx: Transaction) -> None:
        known = tx.get(HostRecord, self.host.host_id)
        since = tx.now if known is None or known.known_at is None else known.known_at
        tx.put(replace(self.host, asked_at=None, vouched_by=None, known_at=since))


@dataclass(frozen=True, slots=True)
class AskToJoin(RunVerb):
    """A host without a marker asks those that have one whether this is the ledger that they work with."""

    host: HostRecord
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(HostRecord, self.host.host_id),)

    def decide(self, tx: Transaction) -> None:
        known = tx.get(HostRecord, self.host.host_id)
        since = None if known is None else known.known_at
        tx.put(replace(self.host, asked_at=tx.now, vouched_by=None, known_at=since))


@dataclass(frozen=True, slots=True)
class Vouch(RunVerb):
    """A host whose own marker agrees with the ledger answers those that have asked."""

    by: str
    asked: tuple[str, ...]
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return [Read.key(HostRecord, host_id) for host_id in (self.by, *self.asked)]

    def decide(self, tx: Transaction) -> None:
        own = tx.get(HostRecord, self.by)
        if own is None or own.known_at is None:
            return  # the ledger was put back since this host looked
        for host_id in self.asked:
            host = tx.get(HostRecord, host_id)
            if host is not None and host.asked_at is not None:
                tx.put(replace(host, vouched_by=self.by))


@dataclass(frozen=True, slots=True)
class KeepLost(RunVerb):
    """Runs that only this host knows by name: a restore was begun elsewhere, and they may have sent since the restored head."""

    lost: tuple[str, ...]
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return [Read.key(LostRunRecord, run_id) for run_id in self.lost]

    def decide(self, tx: Transaction) -> None:
        head_at = tx.installation.restored_head_at
        for run_id in self.lost:
            if tx.get(LostRunRecord, run_id) is None:
                tx.put(LostRunRecord(run_id, tx.now if head_at is None else head_at))
