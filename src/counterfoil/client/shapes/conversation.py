"""A conversation: what was said to an agent. Never a source of truth about the outside world."""

from typing import Any, Literal

from counterfoil.client.shapes.base import WITHHELD, Next, Page, Shape
from counterfoil.client.shapes.document import WorkingDocument
from counterfoil.client.shapes.run import Pending, RunState


class AtWork(Shape):
    """The turn that has not ended."""

    run_id: str
    number: int
    state: RunState
    sentence: str


class Forked(Shape):
    """Where a fork began: after this turn of the parent."""

    name: str | None
    turn: int | None
    run_id: str


class Conversation(Shape):
    """A conversation. `next`: what its next turn will be. `queued`: how many messages wait for the turn at work."""

    conversation_id: str
    number: int
    name: str
    agent: str
    turns: int
    next: Literal["message", "reset", "handoff"]
    at_work: AtWork | None
    queued: int
    forked_from: Forked | None
    settings: dict[str, Any]
    settings_version: int
    created_at: str
    created_by: str | None


class Spoken(Shape):
    """What was said in a turn."""

    role: str
    text: str
    at: str


class Revises(Shape):
    """The decision that a turn revises, and why."""

    decision_id: str
    reason: str


class Turn(Shape):
    """An accepted message, which is one run. `into`: the run that has read a steer. `note`: of a handoff, to the new agent.

    `revises`: the answer that it revises.
    """

    n: int
    conversation: str
    run_id: str
    number: int
    request_id: str
    agent: str
    kind: Literal["message", "reset", "handoff", "compaction", "steer", "imported"]
    state: RunState
    sentence: str
    text: str | None
    messages: list[Spoken] | None
    into: str | None
    note: str | None
    revises: Revises | None
    pending: list[Pending]
    at: str
    withheld: list[str] = WITHHELD


class ConversationShown(Conversation):
    """A conversation with its newest turns, oldest first. `documents`: the working context that its next turn reads."""

    transcript: Page[Turn]
    documents: list[WorkingDocument]


class Sent(Shape):
    """What became of a message. `existing`: the request id was known with the same content. `into`: the run a steer is for."""

    admitted: Literal["new", "follow_up", "steer", "existing"]
    run_id: str
    conversation_id: str
    conversation: str
    turn: int
    into: str | None
    number: int
    state: RunState
    reason: str | None
    sentence: str
    result: Any
    next_action: Next
    withheld: list[str] = WITHHELD


class Aborted(Shape):
    """The turn at work is cancelled. `withdrawn` and `kept` are the runs that were queued."""

    run_id: str
    number: int
    state: RunState
    heading: str | None
    withdrawn: list[str]
    kept: list[str]
    sentence: str
