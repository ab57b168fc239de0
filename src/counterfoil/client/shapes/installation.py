"""The installation: incidents, stops, workers, receivers, people, signals, what a text may mean."""

from typing import Any, Literal

from pydantic import Field

from counterfoil.client.shapes.base import WITHHELD, Next, Shape


class Incident(Shape):
    """The receiver contradicts us, until a person has weighed it."""

    incident_id: str
    number: int
    operation_id: str
    run_id: str
    business_key: str | None
    what: str
    evidence: Any
    opened_at: str
    closed_at: str | None
    closed_by: str | None
    reason: str | None
    next_action: Next
    withheld: list[str] = WITHHELD


class Suspension(Shape):
    """A stop of sending. `scope`: all, receiver:NAME or operation:ID."""

    scope: str
    reason: str | None
    by: str
    at: str
    lifted_at: str | None
    lifted_by: str | None


class WritesStatus(Shape):
    """Whether sending is stopped. `restore`: null, open or finished."""

    suspended: bool
    restore: str | None
    items: list[Suspension]


class Waiver(Shape):
    """A named person lets an operation be sent without a drill, until its end. `stands`: it counts now."""

    operation: str
    reason: str
    by: str
    at: str
    until: str
    stands: bool
    revoked_at: str | None
    revoked_by: str | None


class Drilled(Shape):
    """A registered drill of what the code says now."""

    workflow: str
    workflow_version: int
    contract_digest: str


class Unattended(Shape):
    """An operation without a review. `gate`: it needs a drill or a waiver; `undrilled_version`: drilled, but otherwise than now."""

    operation: str
    receiver: str
    environment: str
    gate: bool
    drill_at: str | None
    drill_digest: str | None
    drill_age_seconds: int | None
    drilled: list[Drilled]
    undrilled_version: bool
    waiver: Waiver | None


class WorkerSeen(Shape):
    """A process that drives runs. `gone` is certain, `alive` is what its heartbeat says, `holds` counts its runs."""

    worker_id: str
    host: str
    pid: int
    versions: dict[str, list[int]]
    queues: list[str] | None
    started_at: str
    seen_at: str
    draining: bool
    quiet: bool
    stopped_at: str | None
    gone: bool
    alive: bool
    holds: int


class LastDay(Shape):
    """How the attempts of the last day went."""

    attempts: int
    refused: int
    ambiguous: int
    failure_rate: float | None


class ReceiverOperation(Shape):
    """What may be sent there, under which contract."""

    operation: str
    action: str
    api_version: str
    contract_digest: str
    kind: str
    lookup: str | None
    window_us: int | None
    duplicate: str
    procedure: str | None
    sentences: list[str]


class ReceiverLimits(Shape):
    """What all workers together keep to, and until when the receiver asked to be left alone."""

    concurrency: int | None
    in_use: int
    rate: str | None
    closed_until_at: str | None
    closed_by: int | None


class Pause(Shape):
    """Why nothing is sent to a receiver. `by` is None for its breaker, which ends by itself at `until_at`."""

    sentence: str
    by: str | None
    at: str | None
    until_at: str | None


class Receiver(Shape):
    """An outside system. `waiting`: how many runs its limits and its pause hold."""

    receiver: str
    environment: str | None
    declared: bool
    suspended: bool
    in_doubt: int
    oldest_doubt_at: str | None
    last_day: LastDay
    limits: ReceiverLimits
    paused: Pause | None
    waiting: int
    operations: list[ReceiverOperation]


class Person(Shape):
    """Somebody who may decide; never with the secret."""

    name: str
    roles: list[str]
    stand_in_for: str | None
    revoked_at: str | None
    added_at: str


class Me(Shape):
    """Who is signed in, and how that was shown."""

    name: str
    how: str
    roles: list[str]
    stand_in_for: str | None
    workflows: list[str] | None = Field(description="Those whose runs are seen; null for all.")
    acts: list[str] = Field(description="What may be done to the installation as a whole.")


class Signalled(Shape):
    """A stored signal."""

    run_id: str
    signal_id: str
    name: str
    admitted: Literal["new", "existing"]


class Hit(Shape):
    """What a text may mean. `matched`: by what it was found."""

    kind: str
    id: str
    number: int | None
    run_id: str | None
    matched: str
    title: str | None = None
