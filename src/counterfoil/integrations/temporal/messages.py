"""What passes between a workflow and its activities: plain data, as Temporal's JSON."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Input:
    """The argument of a workflow. `generation` counts the times that it continued as new, its history being long.

    `submitted`: by us, so that the workflow id alone names its run. `parent`: the run that began it, and at which position.
    """

    input: Any
    generation: int = 0
    by: str | None = None  # the person who submitted it
    submitted: bool = False
    parent: list[str] | None = None


@dataclass(frozen=True)
class Begin:
    """A workflow begins, also anew after a retry or a reset."""

    workflow: str
    version: int
    namespace: str
    workflow_id: str
    first_run_id: str
    input: Any
    generation: int
    by: str | None
    submitted: bool = False
    parent: list[str] | None = None


@dataclass(frozen=True)
class Recall:
    """What else the record answers, behind a sequence."""

    run_id: str
    after: int


@dataclass(frozen=True)
class Begun:
    """Its run in the ledger. `known`: what the record answers, by position, where the workflow goes on in a new generation.

    `sequence` is where its journal stood, `incarnation` the installation's: another one means that a restore came between.
    """

    run_id: str
    created_at: int
    known: dict[str, "Said"] = field(default_factory=lambda: {})
    more: int | None = None  # the sequence behind which more is known
    sequence: int | None = None
    incarnation: int = 0


@dataclass(frozen=True)
class Wait:
    """What a call waits for, as the ledger shows it. Times are microseconds since 1970; `due_at` None: only an outside act."""

    kind: str
    id: str
    since_at: int
    due_at: int | None
    deadline_at: int | None
    sentence: str
    owner: str
    owner_then: str | None


@dataclass(frozen=True)
class Call:
    """One call of `run`. Its position is `prefix` and `number`: the name in its branch, and how often it was called there.

    `scopes` are the durable timeouts open around it: position and end. `others` is what other branches wait for meanwhile.
    """

    kind: str
    run_id: str
    generation: int
    prefix: str
    number: int
    last_at: int
    arguments: dict[str, Any]
    scopes: list[list[Any]] = field(default_factory=lambda: [])
    others: list[Wait] = field(default_factory=lambda: [])
    incarnation: int = 0  # as the run's beginning said; 0: it did not


@dataclass(frozen=True)
class End:
    """The function returned, or raised: a `failure` that a workflow may answer, told by the entry `sequence`, or a `problem`.

    `parked_at` is the sequence at which the run was parked with this end before, `begun_at` the one at which its execution began.
    """

    run_id: str
    generation: int
    result: Any = None
    failure: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    sequence: int | None = None
    cancelled: bool = False
    parked_at: int | None = None
    begun_at: int | None = None
    incarnation: int = 0


@dataclass(frozen=True)
class Said:
    """The ledger's answer. `state` is one of:

    `done` with `value`; `failed` with `failure`, told by the entry `sequence`; `waits`: ask again when `due_at` has come or
    somebody moved something; `cancelled`: nothing more is done; `ended` with `value` {state, result, failure}; `again`: begin anew.
    """

    state: str
    value: Any = None
    failure: dict[str, Any] | None = None
    at: int | None = None
    sequence: int | None = None
    wait: Wait | None = None
    digest: str | None = None  # of the call's input, where the record alone answers


@dataclass(frozen=True)
class Incoming:
    """A signal of Temporal with a name of the workflow's own: stored first, matched later."""

    run_id: str
    signal_id: str
    name: str
    payload: Any
