"""Limits that all workers keep together: how many at once, and how many in a time."""

from dataclasses import KW_ONLY, dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Rate:
    """So many attempts within `per`, evenly. `burst`: so many at once after a quiet time; left out: `count`."""

    count: int
    _: KW_ONLY
    per: timedelta
    burst: int | None = None

    @property
    def interval_us(self) -> int:
        """The time between two attempts, in microseconds; at least one."""
        return max(1, self.per // timedelta(microseconds=1) // self.count)

    @property
    def at_once(self) -> int:
        """How many may follow one another without a pause."""
        return self.burst or self.count


@dataclass(frozen=True, slots=True)
class Partition:
    """Runs whose input has the same value in `field` share `concurrency`: one customer, one account, one region."""

    field: str
    _: KW_ONLY
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """One row of `slots`: a place that is taken in a pool, by a run that is driven or by an attempt.

    `until`: when an attempt's ends by itself, at its deadline. None of a run's: it ends when the run is no longer running.
    """

    pool: str
    holder: str
    run_id: str
    until: int | None


@dataclass(frozen=True, slots=True)
class TapRecord:
    """One row of `taps`: what goes out to a receiver, from all workers.

    `next_at`: when the next attempt would be due if all went evenly; a rate lets it run ahead of now by its burst.
    `closed_until`: the receiver asked to be left alone until then, by an answer with the status `closed_by`.
    `failures`: attempts in a row that failed, the last one as `problem` says. `open_until`: so long the breaker lets nothing
    through, for the `opens`-th time in a row; from then on one attempt (`trial`) tries, which has until `trial_until`.
    `paused_at`, `paused_by`, `paused_reason`: a person's pause, until a person ends it.
    """

    receiver: str
    next_at: int
    closed_until: int | None
    closed_by: int | None
    failures: int = 0
    problem: str | None = None
    opens: int = 0
    open_until: int | None = None
    trial: str | None = None
    trial_until: int | None = None
    paused_at: int | None = None
    paused_by: str | None = None
    paused_reason: str | None = None


def receiver_pool(receiver: str) -> str:
    """The pool of a receiver's attempts."""
    return f"receiver:{receiver}"


def workflow_pool(workflow: str) -> str:
    """The pool of a workflow's runs, whatever their version."""
    return f"workflow:{workflow}"


def partition_pool(workflow: str, field: str, value: str) -> str:
    """The pool of a workflow's runs for one value of its partition."""
    return f"partition:{workflow}:{field}={value}"


def named(pool: str) -> str:
    """A pool in words: `receiver stripe`, `workflow refund`, `refund with customer=acme`."""
    kind, _, name = pool.partition(":")
    if kind != "partition":
        return f"{kind} {name}"
    workflow, _, value = name.partition(":")
    return f"{workflow} with {value}"


def waits_for_slot(pool: str, used: int, limit: int) -> str:
    """What is shown of work that is held: it goes on by itself."""
    return f"Waits for a slot of {named(pool)}, {used} of {limit} in use."
