"""A receipt: evidence from the receiver."""

from dataclasses import dataclass

from pydantic import BaseModel


class Receipt(BaseModel):
    """The receiver's reference. Derived types add only fields with defaults: a person may know no more."""

    reference: str


@dataclass(frozen=True, slots=True)
class ReceiptRecord:
    """One row of `receipts`. `how` is reply, lookup, webhook, statement or person.

    `proves` is first_result, current_state or existence. `body` is JSON of the typed receipt.
    """

    receipt_id: str
    operation_id: str
    run_id: str
    attempt_id: str | None
    how: str
    reference: str
    body: str
    body_digest: str
    proves: str
    received_at: int


@dataclass(frozen=True, slots=True)
class LookupRecord:
    """One row of `lookups`: a question to the receiver, and what it showed.

    `result` is match, mismatch, several, absent or unreachable. `complete` is 1 when the walk saw everything.
    """

    lookup_id: str
    operation_id: str
    run_id: str
    n: int
    asked_at: int
    result: str
    complete: int
    found: str  # JSON: the records seen, each with reference and digest
    attempts: int  # how many attempts had begun: a later one voids what absence said
