"""An intention that another operation already carries: its receipt is the answer, marked `reused`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.branches import Branch, Wait
from counterfoil.engine.definitions import Operation
from counterfoil.engine.execution import Execution
from counterfoil.engine.proposals import carriers
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.installation import BusinessKeyRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import ParkReason, RunRecord, RunState
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
        operation = tx.must(OperationRecord, self.operation_id)
        first = tx.must(OperationRecord, self.first_id)
        if operation.status.closed or operation.reused_from is None:
            return True
        if first.payload_digest != operation.payload_digest:
            self._moved(tx, operation, None, ParkReason.BUSINESS_KEY_CONFLICT)  # the first was revised meanwhile
            return True
        if first.status is OperationStatus.SUCCEEDED:
            self._answered(tx, operation, first)
            return True
        return first.status is OperationStatus.FAILED and self._freed(tx, operation)

    def _answered(self, tx: Transaction, operation: OperationRecord, first: OperationRecord) -> None:
        closed = replace(
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
        tx.put(closed)
        data = {
            "ruling": "record_success",
            "reason": "reused",
            "status": "succeeded",
            "reused_from": first.operation_id,
        }
        self._say(tx, EntryKind.CLOSED, operation, {"case": "B", "sentence": SENTENCE} | data)

    def _freed(self, tx: Transaction, operation: OperationRecord) -> bool:
        """`failed` frees the key: this operation carries the intention from here on, if nobody else took it first."""
        known = tx.find(BusinessKeyRecord, "business_key", self.business_key)
        holders = carriers(known, tx.now)
        if any(holder.operation_id == self.first_id for holder in holders):
            return False  # a person's `failed`: held until nothing can arrive late any more
        equal = [holder for holder in holders if holder.payload_digest == operation.payload_digest]
        if equal:
            self._moved(tx, operation, equal[-1].operation_id, operation.reason)
            return False
        if not holders:
            digest = operation.payload_digest
            tx.put(BusinessKeyRecord(self.business_key, operation.operation_id, digest, len(known), None))
        self._moved(tx, operation, None, ParkReason.BUSINESS_KEY_CONFLICT if holders else operation.reason)
        return True

    def _moved(self, tx: Transaction, operation: OperationRecord, heir: str | None, reason: str | None) -> None:
        tx.put(replace(operation, version=operation.version + 1, reused_from=heir, reason=reason))
        self._say(tx, EntryKind.RULED, operation, {"reused_from": heir})

    def _say(self, tx: Transaction, kind: EntryKind, operation: OperationRecord, data: dict[str, Any]) -> None:
        named = {"operation_id": operation.operation_id, "version": operation.proposal_version}
        tx.append(self.run_id, kind, name=operation.name, data=named | data)


@dataclass(frozen=True, slots=True)
class LookNow(RunVerb):
    """The run that carries the intention has ended: whoever waits for its answer looks at once, and not at its next look."""

    first_run_id: str
    boundary: ClassVar[str] = "operation.advanced"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.key(RunRecord, self.first_run_id))

    def decide(self, tx: Transaction) -> None:
        run = tx.must(RunRecord, self.run_id)
        if run.state is RunState.WAITING and tx.must(RunRecord, self.first_run_id).state.ended:
            wake(tx, self.run_id)


async def follow(execution: Execution, operation: Operation[Any, Any], operation_id: str, branch: Branch) -> None:
    """Wait for the operation that carries the intention; then either it answered, or this one is driven itself."""
    while not execution.closed:
        seen = execution.journal.seen
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
            seen=seen,
        )
