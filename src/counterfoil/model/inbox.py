"""What people do with what waits for them: take it, hand it over, put it off, say something about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TendingRecord:
    """One row of `tending`: who works on one thing that needs a person. `subject` is a review, a run or an incident by id."""

    subject: str
    run_id: str
    taken_by: str | None
    taken_at: int | None
    snoozed_at: int | None
    snoozed_until: int | None
    snoozed_by: str | None
    snooze_reason: str | None
    escalated_to: str | None
    escalated_at: int | None


@dataclass(frozen=True, slots=True)
class CommentRecord:
    """One row of `comments`."""

    comment_id: str
    subject: str
    run_id: str
    person: str
    text: str
    at: int
