"""A review, and the approval it becomes."""

from typing import Any, Literal

from pydantic import Field

from counterfoil.client.shapes.base import WITHHELD, Money, Next, Shape

ReviewState = Literal["open", "approved", "rejected", "expired", "superseded"]


class Approval(Shape):
    """A review, whatever its state, as it stands in a run or an operation."""

    review_id: str
    number: int
    operation_id: str
    kind: str = Field(description="first, or renewal: what it asks about may already have happened.")
    state: ReviewState
    reviewer: str | None
    role: str
    proposal_version: int
    digest: str = Field(description="Of the proposal; an answer names it.")
    scope: Any
    decided_at: str | None
    expires_at: str | None
    used_by: str | None = Field(description="The attempt that drew on it.")
    void: str | None = Field(description="Why it no longer counts.")
    comment: str | None


class GivenAnswer(Shape):
    """One answer that counts."""

    person: str
    decision: str
    at: str
    comment: str | None
    signed: bool


class Answers(Shape):
    """How many different people must approve, and who has answered."""

    needed: int
    given: list[GivenAnswer]


class ReviewSummary(Approval):
    """A review in a list."""

    run_id: str
    operation: str | None
    sentence: str
    owner: str
    opened_at: str
    deadline_at: str | None
    next_action: Next
    target: str | None = Field(None, description="What the payload marks as its target.")
    amount: Money | None = Field(None, description="What the payload marks as its amount.")
    answers: Answers | None = None
    withheld: list[str] = WITHHELD


class Review(ReviewSummary):
    """The question put to a person about one proposal version."""

    payload: Any = Field(description="What would be sent.")
    sources: Any = Field(description="What the payload was made from.")


class Answered(Shape):
    """What became of an answer. `decided`: now, or earlier by somebody else."""

    review_id: str
    state: ReviewState
    decided: str
