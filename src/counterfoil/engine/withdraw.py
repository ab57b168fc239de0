"""The operation's own function says, before any byte, that it must not be sent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.verb import RunVerb, driven
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Withdraw(RunVerb):
    """Marks the wish as withdrawn; the recovery table then closes what was never sent, and only asks about the rest."""

    fence: int
    operation_id: str
    why: str
    only_unsent: bool = False  # leave alone what may have been sent
    boundary: ClassVar[str] = "operation.advanced"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.by(ReviewRecord, "run_id", self.run_id),
        )

    def decide(self, tx: Transaction) -> None:
        driven(tx, self.run_id, self.fence)
        operation = tx.must(OperationRecord, self.operation_id)
        if operation.status.closed or operation.withdrawn is not None or (self.only_unsent and operation.sent):
            return
        tx.put(replace(operation, version=operation.version + 1, withdrawn=self.why))
        for review in tx.find(ReviewRecord, "run_id", self.run_id):
            if (
                review.operation_id == operation.operation_id
                and review.state is ReviewState.OPEN
                and not operation.sent
            ):
                tx.put(replace(review, state=ReviewState.SUPERSEDED, void="withdrawn"))  # nobody is asked in vain
        tx.append(
            self.run_id,
            EntryKind.RULED,
            name=operation.name,
            data={"operation_id": operation.operation_id, "withdrawn": self.why},
        )
