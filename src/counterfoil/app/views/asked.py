"""What the receiver showed when it was asked: its records beside ours."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import LookupRecord

_SENTENCES = {
    "match": "The receiver holds one record with our content.",
    "mismatch": "The receiver holds a record with other content than ours.",
    "several": "The receiver holds more than one record.",
    "absent": "The receiver showed no record of it.",
    "unreachable": "The receiver could not be asked; that proves nothing.",
}


def asked_view(operation: OperationRecord, lookups: Sequence[LookupRecord]) -> list[dict[str, Any]]:
    """`[{n, asked_at, result, sentence, complete, attempts, records: [{reference, digest, same, receipt}]}]`, newest first.

    `same`: the record's content has our digest; None where only its existence shows.
    """
    return [
        {
            "n": lookup.n,
            "asked_at": rfc3339(lookup.asked_at),
            "result": lookup.result,
            "sentence": _SENTENCES[lookup.result],
            "complete": bool(lookup.complete),
            "attempts": lookup.attempts,
            "records": [_record(found, operation) for found in parsed(lookup.found)],
        }
        for lookup in reversed(lookups)
    ]


def _record(found: dict[str, Any], operation: OperationRecord) -> dict[str, Any]:
    digest = found.get("digest")
    return {
        "reference": found.get("reference"),
        "digest": digest,
        "same": None if digest is None else digest == operation.payload_digest,
        "receipt": found.get("receipt"),
    }
