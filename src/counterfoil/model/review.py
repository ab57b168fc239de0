"""A review: the question put to a person about one proposal version. An answer: what the person said."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from counterfoil.model.people import Owner


class ReviewState(StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


REVIEW_SENTENCES: dict[ReviewState, str] = {
    ReviewState.OPEN: "Waits for an answer.",
    ReviewState.APPROVED: "Approved: it authorises one digest, once.",
    ReviewState.REJECTED: "Rejected, or taken back.",
    ReviewState.EXPIRED: "Nobody answered in time.",
    ReviewState.SUPERSEDED: "A newer version took its place.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBy:
    """Who must approve: a role, how long an answer and its approval are good for, and who owns the waiting.

    `approvals` is how many different people must approve; one rejection rejects.
    """

    role: str
    expires_in: timedelta
    owner: Owner | str
    approvals: int = 1


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One row of `reviews`. `kind` is first or renewal. `scope` is JSON (design section 1, approval).

    `used_by` is the operation's attempt that first drew on the approval; `void` says why an approval no longer counts.
    """

    review_id: str
    number: int
    operation_id: str
    run_id: str
    proposal_version: int
    digest: str
    kind: str
    state: ReviewState
    role: str
    owner: str
    owner_then: str | None
    scope: str
    opened_at: int
    expires_at: int
    reviewer: str | None
    decided_at: int | None
    comment: str | None
    ask_revision: int
    used_by: str | None
    void: str | None
    incarnation: int
    needed: int = 1  # how many different people must approve


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One row of `answers`: stored before it is matched. `matched` says what became of it."""

    answer_id: str
    review_id: str
    run_id: str
    person: str
    decision: str  # approve, reject
    digest: str
    comment: str
    ask_revision: int
    at: int
    matched: str  # now, earlier, other_digest, closed, expired
    key_id: str | None = None  # the approval key that signed this answer, and its signature as hex
    signature: str | None = None
    statement: str | None = None  # what was signed, as canonical JSON
