"""A review, and the approval it becomes."""

from typing import Any, Literal

from pydantic import Field

from counterfoil.client.shapes.base import Next, Shape

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


class ReviewSummary(Approval):
    """A review in a list."""

    run_id: str
    operation: str | None
    sentence: str
    owner: str
    opened_at: str
    deadline_at: str | None
    next_action: Next


class Review(ReviewSummary):
    """The question put to a person about one proposal version."""

    payload: Any = Field(description="What would be sent.")
    sources: Any = Field(description="What the payload was made from.")


class Answered(Shape):
    """What became of an answer. `decided`: now, or earlier by somebody else."""

    review_id: str
    state: ReviewState
    decided: str
