"""What was said, and knowledge for reasoning. Neither is ever a source of truth about the outside world."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel


class Turn(BaseModel):
    """The input of an agent's run: what the user says, and in which conversation. Without one it stands alone."""

    text: str
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One row of `messages`: `role` is user or agent."""

    run_id: str
    sequence: int
    role: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """One row of `documents`: a version of a working-context document."""

    run_id: str
    name: str
    version: int
    digest: str
    body: str
    at: int


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """One row of `signals`: stored first, matched later. `taken_by` is the position that received it."""

    run_id: str
    signal_id: str
    name: str
    payload: str
    payload_digest: str
    at: int
    taken_by: str | None


class TurnKind(StrEnum):
    """What a turn is to those after it. `turns_before` reads it."""

    MESSAGE = "message"
    RESET = "reset"  # its history begins empty; what was before stays readable
    HANDOFF = "handoff"  # the first of another agent; the history is shared
    COMPACTION = "compaction"  # says in short what was before: later turns read it instead of that
    STEER = "steer"  # read by the turn that was at work: no turn of its own
    IMPORTED = "imported"  # took place elsewhere


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """One row of `conversations`. `head_run_id` is the newest turn's run, `turns` how many were accepted here.

    A fork shares its parent's past up to the turn `parent_run_id`. `next_kind` is what the next turn will be: a reset or a
    handoff is asked for between turns. `settings` is JSON, `settings_version` counts its changes.
    """

    conversation_id: str
    number: int
    name: str
    agent: str
    parent_id: str | None
    parent_run_id: str | None
    head_run_id: str | None
    next_kind: TurnKind
    turns: int
    settings: str
    settings_version: int
    created_at: int
    created_by: str | None
    next_note: str | None = None  # of a handoff: what its first turn begins with


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One row of `turns`: an accepted message, which is one run of an agent's workflow.

    `n` counts within the conversation, from 1. `prior_run_id` is the turn before it, in the parent for a fork's first.
    `into_run_id` is the turn that read a steer. `message_key` says under which request id it was accepted, unique in the
    database: a conversation accepts one message under an id, whatever agent it has by then.
    """

    run_id: str
    conversation_id: str
    n: int
    prior_run_id: str | None
    kind: TurnKind
    into_run_id: str | None
    note: str | None = None  # what whoever handed the conversation over says to this turn's agent
    message_key: str | None = None


# Derived from the row of the turn's run, which is evidence: turns from before the column have it, and no entry says so.
TURN_VOLATILE = frozenset({"message_key"})


def message_key(conversation_id: str, request_id: str) -> str:
    """An id holds no separator, so joining is injective."""
    return f"{conversation_id}\x1f{request_id}"
