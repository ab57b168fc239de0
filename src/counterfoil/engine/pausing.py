"""A person pauses a receiver, or ends its pause: what is meant for it waits, visibly, and goes on by itself afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.slots import TapRecord
from counterfoil.rules.breaker import shut
from counterfoil.rules.tap import new_tap
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class PauseReceiver(RunVerb):
    """Nothing is sent there until a person resumes it. `run_id` is the installation's id. A second pause gives the newer reason."""

    receiver: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # it forbids sending: a restored copy must not know less

    def reads(self) -> Sequence[Read]:
        return (Read.key(TapRecord, self.receiver), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> TapRecord:
        permitted(tx, self.by, about_installation(Act.SUSPEND_WRITES))
        before = tx.get(TapRecord, self.receiver) or new_tap(self.receiver)
        paused = replace(before, paused_at=tx.now, paused_by=self.by, paused_reason=self.reason)
        tx.put(paused)
        said = {"paused": True, "by": self.by, "reason": self.reason}
        tx.append(self.run_id, EntryKind.WRITES, name=f"receiver:{self.receiver}", data=said)
        return paused


@dataclass(frozen=True, slots=True)
class ResumeReceiver(RunVerb):
    """Ends a pause, a person's and the breaker's: what waits is sent. Raises Refused(not_paused)."""

    receiver: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(TapRecord, self.receiver), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> TapRecord:
        permitted(tx, self.by, about_installation(Act.RESUME_WRITES))
        tap = tx.get(TapRecord, self.receiver)
        if tap is None or (tap.paused_at is None and tap.open_until is None):
            raise Refused("not_paused", receiver=self.receiver)
        resumed = replace(shut(tap), paused_at=None, paused_by=None, paused_reason=None)
        tx.put(resumed)
        said = {"paused": False, "by": self.by, "reason": self.reason}
        tx.append(self.run_id, EntryKind.WRITES, name=f"receiver:{self.receiver}", data=said)
        return resumed
