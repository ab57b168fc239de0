"""What people do with what waits for them: take it, hand it over, put it off, say something about it."""

from dataclasses import dataclass

INCIDENT_US = 24 * 3600 * 1_000_000  # a day to weigh an incident; the index `incidents_due` says the same


@dataclass(frozen=True, slots=True)
class TendingRecord:
    """One row of `tending`: who works on one thing that needs a person. `subject` is a review, a run or an incident by id.

    `taken_by` is a person, or a role that it was handed to. What was done before the present wait began no longer holds.
    """

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


def untended(subject: str, run_id: str) -> TendingRecord:
    """Nobody has done anything with it yet."""
    return TendingRecord(
        subject, run_id, taken_by=None, taken_at=None, snoozed_at=None, snoozed_until=None, snoozed_by=None,
        snooze_reason=None, escalated_to=None, escalated_at=None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommentRecord:
    """One row of `comments`."""

    comment_id: str
    subject: str
    run_id: str
    person: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """Which things are asked for; None means any. What was put off is left out unless `snoozed` asks for it.

    `owner` is a person or a role, also the one it was escalated to. `mine` names a person: taken by that person, or asked of
    a role of that person and taken by nobody. `text` stands somewhere in the number, workflow, request id, operation,
    target or business key.
    """

    owner: str | None = None
    workflow: str | None = None
    receiver: str | None = None
    reason: str | None = None
    mine: str | None = None
    text: str | None = None
    snoozed: bool = False
