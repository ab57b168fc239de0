"""Branches of a run: each has a position space of its own and one pending call at most."""

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field

from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.model.errors import Refused
from counterfoil.rules.replay import Journal


@dataclass(frozen=True, slots=True)
class Wait:
    """What a branch waits for. `due_at` is when time alone may end it; `deadline_at` what people are shown.

    `kind` is decision, attempt, timer, review, signal, child, receiver or slot.
    """

    kind: str
    id: str
    since_at: int
    due_at: int | None
    deadline_at: int | None
    sentence: str
    owner: str | None = None
    owner_then: str | None = None


@dataclass(slots=True)
class Scope:
    """A durable timeout that is open around the calls of a branch."""

    position: str
    until: int


@dataclass(slots=True, eq=False)
class Branch:
    """`prefix` is the position under which its calls are numbered; `last_at` the time of the newest outcome it was given.

    `knows`: the interrupted calls of whose end a model had heard when it planned this branch; None where no model planned it.
    """

    prefix: str
    last_at: int
    number: int = 0
    pending: str | None = None
    waiting: Wait | None = None
    scopes: list[Scope] = field(default_factory=lambda: [])
    drawn: int = 0  # how often chance was drawn since the last call
    knows: frozenset[str] | None = None


current_branch: ContextVar[Branch] = ContextVar("current_branch")


def next_call(branch: Branch, journal: Journal, name: str, digest: str | None, *, closed: bool) -> str:
    """Open the next position of a branch: it is `pending` until its caller ends it.

    Raises Suspended when the execution is closed, Diverged when the record differs.
    """
    if closed:
        raise Suspended
    if branch.pending is not None:
        raise Refused("concurrent_calls")
    branch.number += 1
    branch.drawn = 0
    position = f"{branch.prefix}{branch.number}"
    mismatch = journal.mismatch(position, name, digest)
    if mismatch is not None:
        raise Diverged(position, *mismatch)
    branch.pending = position
    return position


def waits_of(branches: Iterable[Branch]) -> list[Wait]:
    """What each waiting branch waits for."""
    return [branch.waiting for branch in branches if branch.waiting is not None]


def next_due(branches: Iterable[Branch]) -> int | None:
    """When time alone may end a wait of any of them."""
    return min((wait.due_at for wait in waits_of(branches) if wait.due_at is not None), default=None)
