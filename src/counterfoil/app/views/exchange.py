"""What went over the wire in one attempt, as far as it was kept."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.receipt import attempt_view
from counterfoil.model.codec import parsed
from counterfoil.model.operation import AttemptRecord

REACHED = {
    "nothing": "Nothing left this process.",
    "connected": "A connection was made; the request was not written.",
    "request": "The request was written, in part or whole; no answer came.",
    "headers": "The answer's head came; its body did not.",
    "body": "The whole answer came.",
}
_NO_END = "The sender recorded no end: how far it came is not known."


def exchange_view(attempt: AttemptRecord) -> dict[str, Any]:
    """ATTEMPT plus `{host, boot_id, key_number, idempotency_key, request_digest, review_id, sender_gone_at, answer_at, ...}`.

    `sentence` says how far it came, `exchange` is what was kept of the answer, `closed` whether it is proven without effect.
    """
    known = attempt.exchange is not None
    return attempt_view(attempt) | {
        "host": attempt.host,
        "boot_id": attempt.boot_id,
        "key_number": attempt.key_number,
        "idempotency_key": attempt.idempotency_key,
        "request_digest": attempt.request_digest,
        "review_id": attempt.review_id,
        "sender_gone_at": rfc3339(attempt.sender_gone_at),
        "answer_at": rfc3339(attempt.answer_at),
        "sentence": REACHED[attempt.reached] if known else _NO_END,
        "closed": bool(attempt.closed),
        "exchange": parsed(attempt.exchange) if attempt.exchange is not None else None,
    }
