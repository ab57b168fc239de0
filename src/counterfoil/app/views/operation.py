"""OPERATION: one intended write, with everything that is known about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.amount import amount_view
from counterfoil.app.views.approval import approval_view, newest_approval, shown_key
from counterfoil.app.views.contract import contract_of, contract_view, key_of
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import nothing_left, operation_next
from counterfoil.app.views.receipt import attempt_view, receipt_view
from counterfoil.app.views.shown import Shown
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OPERATION_SENTENCES, AttemptRecord, OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader


@dataclass(frozen=True, slots=True)
class Around:
    """The records of one operation, each in its table's order."""

    attempts: Sequence[AttemptRecord]
    receipts: Sequence[ReceiptRecord]
    reviews: Sequence[ReviewRecord]
    incidents: Sequence[IncidentRecord]

    @staticmethod
    def of(reader: Reader, operation: OperationRecord) -> "Around":
        """Read them. The receipt of an operation that reuses another's is that one's."""
        owners = [operation.operation_id] + ([operation.reused_from] if operation.reused_from else [])
        return Around(
            reader.find(AttemptRecord, "operation_id", operation.operation_id),
            reader.find(ReceiptRecord, "operation_id", *owners),
            reader.find(ReviewRecord, "operation_id", operation.operation_id),
            reader.find(IncidentRecord, "operation_id", operation.operation_id),
        )


def operation_view(
    shown: Shown, operation: OperationRecord, around: Around | None = None, run: RunRecord | None = None
) -> dict[str, Any]:
    """The OPERATION shape of the command line. What is not given is read."""
    around = around or Around.of(shown.reader, operation)
    run = run or shown.reader.get(RunRecord, operation.run_id)
    contract = contract_of(shown.reader, operation.contract_digest)
    approval = newest_approval(around.reviews)
    following = (
        nothing_left("Its run is not in this database.")
        if run is None
        else operation_next(shown, operation, run, around.reviews, around.incidents)
    )
    return _identity(operation) | {
        "idempotency_key": key_of(contract, operation),
        "status": operation.status.value,
        "sentence": OPERATION_SENTENCES[operation.status],
        "reason": operation.reason,
        "reused": operation.reused_from is not None,
        "reused_from": operation.reused_from,
        "sent": "maybe" if operation.sent else "no",
        "first_sent_at": rfc3339(operation.first_sent_at),
        "prepared_at": rfc3339(operation.prepared_at),
        "closed_at": rfc3339(operation.closed_at),
        "case": {"letter": operation.case_letter, "sentence": operation.case_sentence},
        "contract": contract_view(contract, operation, around.attempts),
        "attempts": [attempt_view(attempt) for attempt in around.attempts],
        "receipts": [receipt_view(receipt) for receipt in around.receipts],
        "approval": None if approval is None else approval_view(approval),
        "owner": operation.owner,
        "next_action": following,
    }


def _identity(operation: OperationRecord) -> dict[str, Any]:
    return {
        "operation_id": operation.operation_id,
        "number": operation.number,
        "version": operation.version,
        "run_id": operation.run_id,
        "operation": operation.name,
        "receiver": operation.receiver,
        "environment": operation.environment,
        "action": operation.action,
        "api_version": operation.api_version,
        "business_key": shown_key(operation.business_key),
        "generation": operation.generation,
        "occurrence": operation.occurrence,
        "key_number": operation.key_number,
        "proposal_version": operation.proposal_version,
        "payload_digest": operation.payload_digest,
        "target": operation.target,
        "amount": amount_view(operation),
    }
