"""An operation: one intended write to a receiver. An attempt: one try to send it."""

from dataclasses import dataclass
from enum import StrEnum


class OperationStatus(StrEnum):
    PREPARED = "prepared"
    IN_FLIGHT = "in_flight"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"

    @property
    def closed(self) -> bool:
        return self in (OperationStatus.SUCCEEDED, OperationStatus.FAILED)


# The action of a call of an agent's tool that is declared neither safe nor an operation. No operation may take this name.
UNDECLARED = "undeclared_tool"

OPERATION_SENTENCES: dict[OperationStatus, str] = {
    OperationStatus.PREPARED: "Stored with its identity; nothing may have left.",
    OperationStatus.IN_FLIGHT: "An attempt is recorded; it may have been sent.",
    OperationStatus.SUCCEEDED: "The receiver has it, and there is a receipt.",
    OperationStatus.FAILED: "It did not happen, and there is evidence for that.",
    OperationStatus.UNKNOWN: "Nothing automatic can tell whether it happened.",
}


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """One row of `operations`. `version` counts every change, so that a person's resolution names what was seen."""

    operation_id: str
    number: int
    version: int
    run_id: str
    generation: int
    position: str
    name: str
    occurrence: int
    receiver: str
    environment: str
    action: str
    api_version: str
    duplicate: str  # what a second effect costs: benign, costly, irreversible
    business_key: str | None
    key_number: int
    proposal_version: int
    payload: str
    payload_digest: str
    contract_digest: str
    status: OperationStatus
    reason: str | None
    reused_from: str | None
    sent: int  # 0 no, 1 maybe: a fact over all attempts
    first_sent_at: int | None
    attempts: int
    key_state: str | None  # None, "poisoned" or "mismatched": what an answer said of the newest key
    in_progress_until: int | None
    withdrawn: str | None  # who or what took the wish back
    resolution: str | None  # JSON: {as, by, reason, evidence, reference, at, new_key}
    resolved_at: int | None
    receipt_id: str | None
    owner: str
    case_letter: str | None
    case_sentence: str | None
    next_at: int | None  # when the ledger looks at it again by itself
    incident_id: str | None
    incarnation: int
    prepared_at: int
    closed_at: int | None
    target: str | None = None  # what the payload marks as Target: whom or what it changes
    amount_minor: int | None = None  # what the payload marks as Money, in the currency's minor unit
    currency: str | None = None
    # Since when its outcome is open: the first ambiguous answer, or the lease that was lost.
    doubt_at: int | None = None

    @property
    def undeclared(self) -> bool:
        """A call of a tool that nobody declared: its doubt lets the model go on, and holds every further write (rule 13)."""
        return self.action == UNDECLARED


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One row of `attempts`. `reached` is nothing, connected, request, headers or body.

    `sender_gone_at` is when the sender was proven gone: it recorded its end, or its process lock was found free.
    """

    attempt_id: str
    operation_id: str
    run_id: str
    n: int
    worker_id: str
    host: str
    boot_id: str
    fence: int
    key_number: int
    idempotency_key: str | None
    scope: str  # digest of what narrows the key: receiver url, environment, credential fingerprint
    request_digest: str | None
    review_id: str | None
    started_at: int
    deadline_at: int
    ended_at: int | None
    sender_gone_at: int | None
    sent: int
    reached: str
    answer_status: int | None
    answer_class: str | None
    answer_at: int | None
    exchange: str | None  # JSON: headers and body kept as evidence, shortened
    late: int
    closed: int  # 1 when proven without effect: refused, not applied or never sent
