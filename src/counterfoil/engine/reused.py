"""An intention that another operation already carries: its receipt is the answer, marked `reused`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.branches import Branch, Wait
from counterfoil.engine.definitions import Operation
from counterfoil.engine.execution import Execution
from counterfoil.engine.verb import RunVerb
from counterfoil.model.installation import BusinessKeyRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

LOOK_AGAIN_US = 10_000_000
SENTENCE = "Another operation carries this intention with equal content; its receipt is the answer."


@dataclass(frozen=True, slots=True)
class Follow(RunVerb):
    """Gives True when this operation now has an end of its own, or carries the intention itself."""

    operation_id: str
    first_id: str
    business_key: str
    boundary: ClassVar[str] = "operation.advanced"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.key(OperationRecord, self.first_id),
            Read.by(BusinessKeyRecord, "business_key", self.business_key),
        )

    def decide(self, tx: Transaction) -> bool:
        operation = next(
            o for o in tx.find(OperationRecord, "run_id", self.run_id) if o.operation_id == self.operation_id
        )
        first = tx.must(OperationRecord, self.first_id)
        if operation.status.closed or operation.reused_from is None:
            return True
        if first.status is OperationStatus.SUCCEEDED:
            done = replace(
                operation,
                version=operation.version + 1,
                status=OperationStatus.SUCCEEDED,
                receipt_id=first.receipt_id,
                closed_at=tx.now,
                sent=1,
                first_sent_at=first.first_sent_at,
                case_letter="B",
                case_sentence=SENTENCE,
            )
            tx.put(done)
            tx.append(
                self.run_id,
                EntryKind.CLOSED,
                name=operation.name,
                data={
                    "operation_id": operation.operation_id,
                    "version": operation.proposal_version,
                    "case": "B",
                    "sentence": SENTENCE,
                    "ruling": "record_success",
                    "reason": "reused",
                    "status": "succeeded",
                    "reused_from": first.operation_id,
                },
            )
            return True
        if first.status is OperationStatus.FAILED:
            # `failed` frees the key: this operation carries the intention from here on, if nobody else took it first.
            holders = [
                h
                for h in tx.find(BusinessKeyRecord, "business_key", self.business_key)
                if h.held_until is None or h.held_until > tx.now
            ]
            heir = holders[-1].operation_id if holders else None
            if heir is None:
                known = tx.find(BusinessKeyRecord, "business_key", self.business_key)
                tx.put(
                    BusinessKeyRecord(
                        self.business_key, operation.operation_id, operation.payload_digest, len(known), None
                    )
                )
            tx.put(replace(operation, version=operation.version + 1, reused_from=heir))
            tx.append(
                self.run_id,
                EntryKind.RULED,
                name=operation.name,
                data={
                    "operation_id": operation.operation_id,
                    "version": operation.proposal_version,
                    "reused_from": heir,
                },
            )
            return heir is None
        return False


async def follow(execution: Execution, operation: Operation[Any, Any], operation_id: str, branch: Branch) -> None:
    """Wait for the operation that carries the intention; then either it answered, or this one is driven itself."""
    while not execution.closed:
        record = execution.operations[operation_id]
        if record.reused_from is None or record.status.closed:
            return
        verb = Follow(execution.run.run_id, operation_id, record.reused_from, record.business_key or "")
        done = await execution.owned(execution.write(verb))
        execution.catch_up()
        if done:
            return
        now = execution.opened.clock.now_us()
        await execution.wait(
            Wait(
                "receiver",
                record.reused_from,
                now,
                now + LOOK_AGAIN_US,
                None,
                f"waits for {operation.name}, which another run performs",
            ),
            branch=branch,
        )
