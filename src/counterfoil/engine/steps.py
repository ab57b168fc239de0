"""What a step leaves: a result, a final failure, or one more failed try."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.journal import EntryKind
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
    """A try of a step, a decision or an operation failed. Gives the entry; the run's count says what is left."""

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    deadlines: Deadlines
    boundary: ClassVar[str] = "step.try_failed"
    quiet: ClassVar[bool] = True

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        tx.put(replace(touched(run, tx.now, self.deadlines), failed_tries=run.failed_tries + 1))
        return tx.append(self.run_id, EntryKind.TRY_FAILED, position=self.position, name=self.name, data=self.data)
