"""The inbox: what needs a person, and what people do with it short of deciding it."""

from typing import Literal

from pydantic import Field

from counterfoil.client.shapes.base import WITHHELD, Money, Next, Shape


class InboxItem(Shape):
    """One thing that needs a person."""

    subject: str = Field(description="The id of a review, a run or an incident.")
    kind: str
    number: int
    run_id: str
    run_number: int
    workflow: str
    request_id: str
    operation_id: str | None
    operation_number: int | None
    operation: str | None
    receiver: str | None
    business_key: str | None
    target: str | None
    amount: Money | None
    reason: str
    role: str | None
    owner: str | None
    owner_then: str | None
    since_at: str
    age_seconds: int
    deadline_at: str
    overdue: bool
    sentence: str
    next_action: Next
    taken_by: str | None
    snoozed_until: str | None
    snooze_reason: str | None
    escalated_to: str | None
    comments: int
    withheld: list[str] = WITHHELD


class Comment(Shape):
    """What somebody said about it."""

    comment_id: str
    person: str
    text: str
    at: str


class InboxThing(InboxItem):
    """One thing with what was said about it."""

    said: list[Comment]


class ReasonCount(Shape):
    """How many things wait for one reason."""

    reason: str
    count: int
    overdue: int


class InboxCounts(Shape):
    """How many things wait. What was put off is counted in `snoozed` alone."""

    total: int
    overdue: int
    snoozed: int
    reasons: list[ReasonCount]


class Preview(Shape):
    """What an act by filter would move: the first 50 of it. `left_out`: what fits the filter and cannot be moved so."""

    act: Literal["lookup", "resume", "cancel", "hand-over"]
    count: int
    left_out: int
    digest: str = Field(description="Carrying out names it: other things have another digest.")
    items: list[InboxItem]


class DoneOne(Shape):
    """One thing that was moved, and its state afterwards."""

    subject: str
    state: str | None


class RefusedOne(Shape):
    """One thing that was refused; it stopped no other."""

    subject: str
    code: str
    message: str


class CarriedOut(Shape):
    """What became of an act by filter."""

    act: str
    count: int
    done: list[DoneOne]
    refused: list[RefusedOne]
