"""A decision: asked and saved before anything acts on it, so that recovery never asks again."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.codec import parsed
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import budget_left
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class AskModel(RunVerb):
    """A visible pending request, with its reserve. Gives the entry, or the reason why the model may not be asked now.

    `lost` counts the calls whose answer never came: they keep their reserve as spent, since nobody knows.
    """

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    reserve_micros: int
    deadlines: Deadlines
    boundary: ClassVar[str] = "decision.asked"

    def reads(self) -> Any:
        return (Read.key(RunRecord, self.run_id), Read.by(OperationRecord, "run_id", self.run_id))

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        # A doubt stops the run, not only the tool (rule 13): the model must not plan on while nobody knows what happened.
        # An interrupted tool holds the writes only: the model is told so, and goes on with what is safe.
        if any(
            in_doubt(operation) and not operation.undeclared
            for operation in tx.find(OperationRecord, "run_id", self.run_id)
        ):
            return "in_doubt"
        spent = budget_left(parsed(run.budget), run, tx.now, spend_reserve=self.reserve_micros)
        if spent is not None:
            return spent
        lost_reserve = run.reserved_micros if self.data.get("lost") else 0
        tx.put(
            replace(
                touched(run, tx.now, self.deadlines),
                spent_micros=run.spent_micros + lost_reserve,
                reserved_micros=run.reserved_micros - lost_reserve + self.reserve_micros,
            )
        )
        if self.data.get("lost"):
            tx.append(self.run_id, EntryKind.LOST, position=self.position, name=self.name, data={"measured": False})
        return tx.append(self.run_id, EntryKind.ASKED, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class AcceptDecision(RunVerb):
    """The accepted output with its usage and cost."""

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    reserve_micros: int
    deadlines: Deadlines
    boundary: ClassVar[str] = "decision.accepted"

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        tx.put(
            replace(
                touched(run, tx.now, self.deadlines),
                spent_micros=run.spent_micros + (self.data["cost_micros"] or 0),
                reserved_micros=max(0, run.reserved_micros - self.reserve_micros),
            )
        )
        return tx.append(self.run_id, EntryKind.DECISION, position=self.position, name=self.name, data=self.data)


def in_doubt(operation: OperationRecord) -> bool:
    """In flight, or unknown; also one that a restore made maybe sent."""
    if operation.status in (OperationStatus.IN_FLIGHT, OperationStatus.UNKNOWN):
        return True
    return operation.status is OperationStatus.PREPARED and bool(operation.sent)
