"""RECEIPT and ATTEMPT: what was tried, and what came back."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import ReceiptRecord


def attempt_view(attempt: AttemptRecord) -> dict[str, Any]:
    """The ATTEMPT shape of the command line. How far a sender came that recorded no end is not known: None."""
    return {
        "attempt_id": attempt.attempt_id,
        "n": attempt.n,
        "worker_id": attempt.worker_id,
        "fence": attempt.fence,
        "started_at": rfc3339(attempt.started_at),
        "deadline_at": rfc3339(attempt.deadline_at),
        "ended_at": rfc3339(attempt.ended_at),
        "sent": "maybe" if attempt.sent else "no",
        "reached": None if attempt.exchange is None else attempt.reached,
        "answer": {"status": attempt.answer_status, "class": attempt.answer_class},
        "late": bool(attempt.late),
    }


def receipt_view(receipt: ReceiptRecord) -> dict[str, Any]:
    """The RECEIPT shape of the command line."""
    return {
        "receipt_id": receipt.receipt_id,
        "operation_id": receipt.operation_id,
        "how": receipt.how,
        "reference": receipt.reference,
        "proves": receipt.proves,
        "body_digest": receipt.body_digest,
        "received_at": rfc3339(receipt.received_at),
    }
