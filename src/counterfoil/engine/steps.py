"""What a step leaves: a result, a final failure, or one more failed try."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.budgets import Share, let_go, share_reads, spent_in, use
from counterfoil.engine.decisions import unmeasured
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import CALLS
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class EndStep(RunVerb):
    """The result or the final failure of a step at its position. Raises Refused(fence_lost)."""

    fence: int
    position: str
    name: str
    data: Any  # JSON, or Written
    deadlines: Deadlines
    kind: EntryKind = EntryKind.STEP
    boundary: ClassVar[str] = "step.ended"
    quiet: ClassVar[bool] = True

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        moved = touched(run, tx.now, self.deadlines)
        if moved is not run:
            tx.put(moved)
        return tx.append(self.run_id, self.kind, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class CountTry(RunVerb):
    """A try of a step, a decision or an operation failed. Gives the entry; the run's count says what is left.

    `reserve_micros` is what a model call held: nobody knows what a failed one cost, so it keeps that as spent.
    """

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    deadlines: Deadlines
    reserve_micros: int = 0
    shares: tuple[Share, ...] = ()
    boundary: ClassVar[str] = "step.try_failed"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), *share_reads(self.shares))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        if self.reserve_micros:
            run = unmeasured(run, self.reserve_micros)
            run = let_go(tx, run, self.position, None, {share.budget_id for share in self.shares})
        else:
            use(tx, self.shares, {"attempts": 1})
        tx.put(replace(touched(run, tx.now, self.deadlines), failed_tries=run.failed_tries + 1))
        return tx.append(self.run_id, EntryKind.TRY_FAILED, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class DrawCall(RunVerb):
    """A call of a tool is begun that a budget counts: once per position, however often it is tried. Gives the entry or Spent."""

    fence: int
    position: str
    name: str
    digest: str | None
    called: str
    deadlines: Deadlines
    shares: tuple[Share, ...]
    boundary: ClassVar[str] = "call.drawn"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), *share_reads(self.shares))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        call = {CALLS + self.called: 1}
        spent = spent_in(tx, run, self.shares, call)
        if spent is not None:
            return spent
        use(tx, self.shares, call)
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(self.run_id, EntryKind.DRAWN, position=self.position, name=self.name, data={"in": self.digest})
