"""Every metric, defined once: its help text, the page about it and `counterfoil metrics` say these very sentences."""

from dataclasses import dataclass
from enum import StrEnum

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86400

COMMIT_BOUNDS_US = (500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000)


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `name` is without the prefix `counterfoil_`; `bounds` are a histogram's, in its unit.

    `of` is installation (one value, the same from every process that is asked) or process (what this process did since it
    opened the database).
    """

    name: str
    kind: MetricKind
    unit: str
    labels: tuple[str, ...]
    definition: str
    does_not_count: str
    of: str = "installation"
    bounds: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        return f"counterfoil_{self.name}"

    @property
    def help(self) -> str:
        """One line: what it is, and what it is not."""
        return f"{self.definition} Not counted: {self.does_not_count}"


_OPERATION = ("receiver", "operation")

UNRESOLVED = Metric(
    "operations_unresolved", MetricKind.GAUGE, "operations", _OPERATION,
    "Operations that are unknown, or in flight past the deadline of their newest attempt.",
    "operations in flight within their deadline, and prepared ones, also those that a restore made maybe sent: they become "
    "unknown once they are ruled on.",
)  # fmt: skip
UNRESOLVED_OLDEST = Metric(
    "operations_unresolved_oldest_seconds", MetricKind.GAUGE, "seconds", _OPERATION,
    "Age of the oldest unresolved operation: from its first ambiguous answer or the end of the lost lease, whichever was first; "
    "from its attempt's deadline while neither is known. 0 without one.",
    "the time between the send and the first ambiguous answer.",
)  # fmt: skip
REVIEWS_OPEN = Metric(
    "reviews_open", MetricKind.GAUGE, "reviews", ("role",),
    "Reviews that wait for an answer, by the role that is asked.",
    "reviews that are answered, expired or superseded; one that needs several approvals is one review until the last.",
)  # fmt: skip
REVIEW_AGE = Metric(
    "review_age_seconds", MetricKind.GAUGE, "seconds", ("role", "which"),
    "Now minus opened over the open reviews of a role: `which` is oldest or median. 0 without one.",
    "reviews that are no longer open, however long they took, and the time before a review was opened.",
)  # fmt: skip
RECOVERY_DURATION = Metric(
    "recovery_duration_seconds", MetricKind.HISTOGRAM, "seconds", ("cause",),
    "From the first missed heartbeat (cause crash) or the first ambiguous answer (cause ambiguous_answer) to the next durable "
    "progress: a result, a decision, an answer's classification, a lookup, a wait or a park of that run; for an ambiguous answer, "
    "the commit that closes the operation, gives it back as prepared or gives it to a person.",
    "recoveries that are not over, and ambiguous answers that the very same commit closes or gives to a person.",
    bounds=(0.1, 0.5, SECOND, 2.5, 5, 10, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY),
)  # fmt: skip
ATTEMPTS_REPEATED = Metric(
    "attempts_repeated_total", MetricKind.COUNTER, "attempts", _OPERATION,
    "Attempts with n above 1: an operation was sent again.",
    "first attempts, lookups, and tries of steps and decisions.",
)  # fmt: skip
ATTEMPTS_WITHOUT_PROGRESS = Metric(
    "attempts_without_progress_total", MetricKind.COUNTER, "attempts", _OPERATION,
    "Attempts after which nothing had changed: their end left no receipt, closed nothing and gave nothing to a person; "
    "the record of the end itself is no change.",
    "attempts that have no recorded end yet, and what a later lookup or late answer finds out.",
)  # fmt: skip
RUNS_PARKED = Metric(
    "runs_parked", MetricKind.GAUGE, "runs", ("reason",),
    "Runs that are parked now, by reason.",
    "runs that wait for a review, a signal, a timer or a child, and runs that were parked and went on.",
)  # fmt: skip
RECEIVERS_PAUSED = Metric(
    "receivers_paused", MetricKind.GAUGE, "receivers", ("receiver", "by"),
    "1 while nothing is sent to a receiver: `by` is person, until somebody resumes it, or breaker, which tries again by itself.",
    "receivers that are suspended (`writes suspend`), full, or asked to be left alone.",
)  # fmt: skip
INTERVENTION = Metric(
    "intervention_seconds", MetricKind.HISTOGRAM, "seconds", ("reason",),
    "From parked to answered: to the commit that made the parked run pending again, by the reason of the park.",
    "runs that are still parked, and reviews: a run that waits for its review is not parked.",
    bounds=(SECOND, 10, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 4 * HOUR, 8 * HOUR, DAY, 3 * DAY, 7 * DAY),
)  # fmt: skip
DUPLICATES_OPEN = Metric(
    "duplicates_open", MetricKind.GAUGE, "incidents", (),
    "Incidents that no person has closed: a receiver holds two records for one intention, or contradicts what we have closed.",
    "incidents that are closed, and possible repeats that were held before anything was sent.",
)  # fmt: skip
RECEIPTS_ORPHANED = Metric(
    "receipts_orphaned", MetricKind.GAUGE, "deliveries", ("receiver",),
    "Messages that receivers sent by themselves, that name no operation that we know, and that no person has closed.",
    "messages that are not matched yet, messages of a type that no contract names, and what was refused.",
)  # fmt: skip
DUPLICATES_FOUND = Metric(
    "duplicates_found_total", MetricKind.COUNTER, "incidents", (),
    "Incidents that were opened.",
    "the same contradiction seen again while its incident is open.",
)  # fmt: skip
BUDGET_SPENT = Metric(
    "budget_spent_usd_total", MetricKind.COUNTER, "USD", ("decision",),
    "Cost of the accepted decisions, where a price is known.",
    "calls whose answer was lost or not accepted, decisions without a known price, and reserves.",
)  # fmt: skip
STEPS = Metric(
    "steps_total", MetricKind.COUNTER, "steps", (),
    "Steps that ended, with a result or a final failure; its rate is steps per second.",
    "failed tries that are tried again, decisions and operations; a replay ends no step anew.",
)  # fmt: skip
COMMITS = Metric(
    "commits_total", MetricKind.COUNTER, "commits", (),
    "Commits of the database; its rate is commits per second.",
    "batches that wrote nothing.",
)  # fmt: skip
COMMIT_DURATION = Metric(
    "commit_duration_seconds", MetricKind.HISTOGRAM, "seconds", (),
    "How long the COMMIT of a batch took, with its flush to the disk.",
    "commits of other processes, the work of the batch before its COMMIT, the wait for the writer, and the flush of the "
    "outside marker.",
    of="process",
    bounds=tuple(bound / 1_000_000 for bound in COMMIT_BOUNDS_US),
)  # fmt: skip
LEASE_LOSSES = Metric(
    "lease_losses_total", MetricKind.COUNTER, "leases", (),
    "Leases that ended while their worker still held the run: it died, froze or was cut off.",
    "leases that were handed back, and runs that nobody has claimed since.",
)  # fmt: skip

METRICS: tuple[Metric, ...] = (
    UNRESOLVED, UNRESOLVED_OLDEST, REVIEWS_OPEN, REVIEW_AGE, RECOVERY_DURATION, ATTEMPTS_REPEATED, ATTEMPTS_WITHOUT_PROGRESS,
    RUNS_PARKED, RECEIVERS_PAUSED, INTERVENTION, RECEIPTS_ORPHANED, DUPLICATES_OPEN, DUPLICATES_FOUND, BUDGET_SPENT, STEPS,
    COMMITS, COMMIT_DURATION, LEASE_LOSSES,
)  # fmt: skip
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}
