"""What the installation does by itself: duties under a lease, notices to people, and samples of its metrics. None is evidence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DutyRecord:
    """One row of `duties`: one holder at a time. `mark` is how far it came, in its own terms."""

    name: str
    holder: str | None
    lease_until: int | None
    started_at: int | None
    succeeded_at: int | None
    problem: str | None
    next_at: int
    mark: int


@dataclass(frozen=True, slots=True)
class NoticeRecord:
    """One row of `notices`: one message to one recipient. `what` is entered, near, overdue, escalated or left.

    `since_at` is the wait that it is about: the same subject may need a person again. `body` is JSON.
    """

    notice_id: str
    subject: str
    since_at: int
    run_id: str
    what: str
    recipient: str
    channel: str  # apprise, webhook
    body: str
    made_at: int
    next_try_at: int | None
    tries: int
    sent_at: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """One row of `samples`: a metric's value at a time. `labels` is JSON."""

    metric: str
    labels: str
    at: int
    value: float


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One row of `spans`: a stretch of time that a metric counts. `what` is recovery or intervention, `label` its reason."""

    span_id: str
    what: str
    label: str
    run_id: str
    began_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class TallyRecord:
    """One row of `tallies`: what a metric has counted from the journal so far. `labels` is JSON."""

    metric: str
    labels: str
    value: float
