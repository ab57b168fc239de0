"""A decision: asked and saved before anything acts on it, so that recovery never asks again."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.budgets import Share, Spent, hold, let_go, share_reads, spent_in
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.codec import parsed
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules.budget import LOSSES, of_model, tokens_of
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class AskModel(RunVerb):
    """A visible pending request, with its reserve. Gives the entry; "in_doubt" or Spent where the model may not be asked now.

    `lost` in `data`: the call before this one never came to its end. It keeps its reserve as spent, since nobody knows.
    `losses` counts such calls since a person last moved the run: a run that loses its worker in them asks no further.
    `called` is the name under which it counts as a call; None: it is none.
    `shares` are the budgets that this call draws on, `held` those in which the lost one holds something.
    """

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    reserve_micros: int
    deadlines: Deadlines
    called: str | None = None
    losses: int = 0
    shares: tuple[Share, ...] = ()
    held: tuple[str, ...] = ()
    boundary: ClassVar[str] = "decision.asked"

    def reads(self) -> Any:
        rows = share_reads(self.shares, self.held)
        return (Read.key(RunRecord, self.run_id), Read.by(OperationRecord, "run_id", self.run_id), *rows)

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        # A doubt stops the run, not only the tool (rule 13): the model must not plan on while nobody knows what happened.
        # An interrupted tool holds the writes only: the model is told so, and goes on with what is safe.
        if any(
            in_doubt(operation) and not operation.undeclared
            for operation in tx.find(OperationRecord, "run_id", self.run_id)
        ):
            return "in_doubt"
        if self.losses >= LOSSES:
            if self.data.get("lost"):
                tx.put(self._lost(tx, run))
            return Spent(ParkReason.POISONED, _LOST_TWICE, parsed(run.budget)["owner"])
        need = of_model(self.called, self.reserve_micros)
        spent = spent_in(tx, run, self.shares, need)
        if spent is not None:
            return spent
        if self.data.get("lost"):
            run = self._lost(tx, run)
        run = hold(tx, touched(run, tx.now, self.deadlines), self.shares, self.position, need)
        tx.put(replace(run, reserved_micros=run.reserved_micros + self.reserve_micros))
        return tx.append(self.run_id, EntryKind.ASKED, position=self.position, name=self.name, data=self.data)

    def _lost(self, tx: Transaction, run: RunRecord) -> RunRecord:
        """Only this call's own reserve: another branch may be asking at this moment."""
        tx.append(self.run_id, EntryKind.LOST, position=self.position, name=self.name, data={"measured": False})
        return let_go(tx, unmeasured(run, self.reserve_micros), self.position, None, self.held)


_LOST_TWICE = (
    "The model was asked twice at one position, and each time the worker was gone before the answer was kept. "
    "It is not asked again before somebody has looked: see what ends the worker, then resume the run."
)


def unmeasured(run: RunRecord, reserve_micros: int) -> RunRecord:
    """A call of which nobody knows what it cost keeps its reserve as spent."""
    kept = min(run.reserved_micros, reserve_micros)
    return replace(run, spent_micros=run.spent_micros + kept, reserved_micros=run.reserved_micros - kept)


@dataclass(frozen=True, slots=True)
class _EndOfCall(RunVerb):
    """What became of one call of a model; `shares` are the budgets in which it holds something."""

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    reserve_micros: int
    deadlines: Deadlines
    shares: tuple[Share, ...] = ()

    def reads(self) -> Any:
        return (Read.key(RunRecord, self.run_id), *share_reads(self.shares))


@dataclass(frozen=True, slots=True)
class AcceptDecision(_EndOfCall):
    """The accepted output with its usage and cost."""

    boundary: ClassVar[str] = "decision.accepted"

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        cost = self.data["cost_micros"] or 0
        known = {"tokens": tokens_of(self.data.get("usage") or {}), "spend_micros": cost}
        run = let_go(tx, run, self.position, known, {share.budget_id for share in self.shares})
        tx.put(
            replace(
                touched(run, tx.now, self.deadlines),
                spent_micros=run.spent_micros + cost,
                reserved_micros=max(0, run.reserved_micros - self.reserve_micros),
            )
        )
        return tx.append(self.run_id, EntryKind.DECISION, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class RefuseQuestion(_EndOfCall):
    """The model's provider refuses the question, and would again. What the call held is given back: it cost nothing."""

    boundary: ClassVar[str] = "step.ended"

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        run = let_go(tx, touched(run, tx.now, self.deadlines), self.position, {}, {s.budget_id for s in self.shares})
        tx.put(replace(run, reserved_micros=max(0, run.reserved_micros - self.reserve_micros)))
        return tx.append(self.run_id, EntryKind.STEP_FAILED, position=self.position, name=self.name, data=self.data)


def in_doubt(operation: OperationRecord) -> bool:
    """In flight, or unknown; also one that a restore made maybe sent."""
    if operation.status in (OperationStatus.IN_FLIGHT, OperationStatus.UNKNOWN):
        return True
    return operation.status is OperationStatus.PREPARED and bool(operation.sent)
