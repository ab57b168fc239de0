"""What a step leaves: a result, a final failure, or one more failed try."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.budgets import Share, hold, let_go, share_reads, spent_in, use
from counterfoil.engine.decisions import unmeasured
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import ELAPSED, of_try
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
    timed: tuple[str, ...] = ()  # the budgets that hold some of its time
    boundary: ClassVar[str] = "step.ended"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        run = Read.key(RunRecord, self.run_id)
        return (run, *share_reads((), self.timed)) if self.timed else (run,)

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        moved = touched(run, tx.now, self.deadlines)
        if self.timed:
            moved = let_go(tx, moved, self.position, {}, self.timed)
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
    timed: tuple[str, ...] = ()  # the budgets that hold some of its time
    boundary: ClassVar[str] = "step.try_failed"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), *share_reads(self.shares, self.timed))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        if self.reserve_micros:
            run = unmeasured(run, self.reserve_micros)
            run = let_go(tx, run, self.position, None, {share.budget_id for share in self.shares})
        else:
            use(tx, self.shares, {"attempts": 1})
            run = let_go(tx, run, self.position, {}, self.timed)
        tx.put(replace(touched(run, tx.now, self.deadlines), failed_tries=run.failed_tries + 1))
        return tx.append(self.run_id, EntryKind.TRY_FAILED, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class DrawCall(RunVerb):
    """A try of a step is begun that a budget counts: the call once per position, the time of each try. Gives the entry or Spent."""

    fence: int
    position: str
    name: str
    digest: str | None
    called: str
    deadlines: Deadlines
    shares: tuple[Share, ...]
    first: bool = True
    held: tuple[str, ...] = ()  # the budgets in which a try that was lost here still holds its reserve
    is_try: bool = True  # False: the call alone is counted here; the time of its tries is counted where they are made
    boundary: ClassVar[str] = "call.drawn"
    quiet: ClassVar[bool] = True

    @property
    def timed(self) -> tuple[str, ...]:
        """The budgets that count its time, and hold some of it until it ends."""
        return tuple(share.budget_id for share in self._timed())

    def _timed(self) -> list[Share]:
        return [share for share in self.shares if self.is_try and ELAPSED in share.limits]

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), *share_reads(self.shares, self.held))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        spent = spent_in(tx, run, self.shares, of_try(self.called, first=self.first, timed=bool(self.timed)))
        if spent is not None:
            return spent
        use(tx, self.shares, of_try(self.called, first=self.first, timed=False))
        run = let_go(tx, run, self.position, None, self.held)
        run = hold(tx, run, self._timed(), self.position, of_try(self.called, first=False, timed=True))
        tx.put(touched(run, tx.now, self.deadlines))
        return tx.append(self.run_id, EntryKind.DRAWN, position=self.position, name=self.name, data={"in": self.digest})
