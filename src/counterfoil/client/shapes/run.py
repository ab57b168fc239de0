"""A run: where it stands, and its six records, kept and shown apart."""

from typing import Any, Literal

from pydantic import Field

from counterfoil.client.shapes.base import WITHHELD, Next, Shape
from counterfoil.client.shapes.operation import Operation, Receipt
from counterfoil.client.shapes.review import Approval

RunState = Literal["pending", "running", "waiting", "parked", "completed", "failed", "cancelled"]


class Established(Shape):
    """What is known, and the evidence."""

    what: str
    at: str
    evidence: str | None


class Pending(Shape):
    """What is waited for."""

    kind: Literal["decision", "attempt", "timer", "review", "signal", "child", "turn", "slot"]
    id: str | None
    since_at: str | None
    deadline_at: str | None


class Changed(Shape):
    """What differs from what was approved."""

    what: str
    approved: Any
    now: Any


class BudgetLeft(Shape):
    """What a run may use, and has used: counts, elapsed in seconds, spend as decimal USD. `name` is a shared budget's."""

    kind: str
    of: str | None
    limit: int | str | None
    used: int | str
    reserved: int | str
    owner: str | None
    scope: str
    name: str | None
    key: str


class OnTemporal(Shape):
    """The workflow of Temporal that executes a run's function; `url` is its page there, where an address is set."""

    namespace: str
    workflow_id: str
    first_run_id: str
    url: str | None


class RunSummary(Shape):
    """A run in a list."""

    run_id: str
    number: int
    workflow: str
    workflow_version: int
    generation: int
    request_id: str
    input_digest: str
    state: RunState
    reason: str | None
    sentence: str
    owner: str | None
    deadline_at: str | None
    overdue: bool
    heading: str | None = Field(description="The end it takes once nothing is in doubt.")
    created_at: str
    updated_at: str
    result: Any
    failure: Any
    established: list[Established]
    pending: list[Pending]
    uncertain: list[str] = Field(description="Ids of operations in doubt.")
    next_action: Next
    changed_since_approval: list[Changed] | None
    budgets: list[BudgetLeft]
    temporal: OnTemporal | None
    withheld: list[str] = WITHHELD


class Message(Shape):
    """What user and agent said; never a source of truth about the outside world."""

    sequence: int
    role: str
    text: str
    at: str


class Document(Shape):
    """Knowledge for reasoning, by version."""

    name: str
    version: int
    digest: str
    body: Any
    at: str


class Entry(Shape):
    """One entry of a run's journal; `digest` chains it to the one before."""

    sequence: int
    kind: str
    position: str | None
    name: str | None
    digest: str
    at: str
    actor: str | None = Field(None, description="The person or worker that it names.")


class EntryEvidence(Entry):
    """One entry as it was stored. `links`: its digest is that of these bytes behind `previous_digest`."""

    run_id: str
    previous_digest: str
    links: bool
    data: dict[str, Any] | None
    rows: dict[str, Any] | None = Field(
        description="What it changed, by table and row. Null where a kind of record is not read."
    )
    withheld: list[str] = WITHHELD


class ExecutionState(Shape):
    """The journal. `head` is its newest digest."""

    head: str
    entries: list[Entry]


class Records(Shape):
    """The six records. One that you may not read is null."""

    conversation: list[Message] | None
    working_context: list[Document] | None
    execution_state: ExecutionState | None
    operations: list[Operation] | None
    receipts: list[Receipt] | None
    approvals: list[Approval] | None


class Run(RunSummary):
    """A run with its six records."""

    records: Records


class Moved(Shape):
    """Where a run stands after somebody moved it."""

    run_id: str
    number: int
    state: RunState
    reason: str | None
    next_action: Next
    heading: str | None


class Submitted(Shape):
    """What became of a submission. `existing`: the request id was known with the same content."""

    run_id: str
    admitted: Literal["new", "existing"]
    number: int
    state: RunState
    reason: str | None
    sentence: str
    result: Any
    next_action: Next
