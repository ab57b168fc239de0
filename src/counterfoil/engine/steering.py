"""A message for the turn at work: stored first, read before its next model call, and a turn of its own if it is never read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.admission import STEER
from counterfoil.engine.following import followers_of, release
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.codec import compact
from counterfoil.model.conversation import SignalRecord, TurnKind, TurnRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read, Snapshot
from counterfoil.store.transaction import Transaction


def unread_steers(snapshot: Snapshot, run_id: str) -> list[SignalRecord]:
    """The steers of a turn that it has not read, in the order in which they came. Payload: `{text, turn}`."""
    found = [s for s in snapshot.find(SignalRecord, "run_id", run_id) if s.name == STEER and s.taken_by is None]
    return sorted(found, key=lambda signal: (_number(snapshot, signal), signal.signal_id))


def _number(snapshot: Snapshot, signal: SignalRecord) -> int:
    run = snapshot.get(RunRecord, signal.signal_id)
    return 0 if run is None else run.number


@dataclass(frozen=True, slots=True)
class TakeSteer(RunVerb):
    """The turn at work reads a steer at this position. Gives the entry, whose `out` is `{text, turn}` as text.

    None when it is none any more: read, or withdrawn. Its own turn ends by that, so that it is never answered twice.
    """

    fence: int
    position: str
    steer: str  # the signal's id, which is the run that the message would have been
    deadlines: Deadlines
    boundary: ClassVar[str] = "signal.received"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.key(RunRecord, self.steer), Read.key(TurnRecord, self.steer),
            Read.key(SignalRecord, self.run_id, self.steer), followers_of(self.steer),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        signal, steer = tx.must(SignalRecord, self.run_id, self.steer), tx.must(RunRecord, self.steer)
        if signal.taken_by is not None or steer.state.ended or steer.cancel_asked:
            return None
        release(tx, steer)
        tx.put(replace(signal, taken_by=self.position))
        tx.put(replace(tx.must(TurnRecord, self.steer), kind=TurnKind.STEER, into_run_id=self.run_id))
        tx.put(
            replace(
                steer,
                state=RunState.COMPLETED,
                reason=None,
                sentence=f"Read by the turn that was at work (run-{run.number}), which answers it.",
                deadline_at=None,
                result=compact({"steered_into": self.run_id}),
            )
        )
        tx.append(
            self.steer, EntryKind.FINISHED, name=RunState.COMPLETED.value, data={"void": None, "into": self.run_id}
        )
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(
            self.run_id, EntryKind.RECEIVED, position=self.position, name=STEER,
            data={"signal_id": self.steer, "out": signal.payload},
        )  # fmt: skip
