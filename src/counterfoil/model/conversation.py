"""What was said, and knowledge for reasoning. Neither is ever a source of truth about the outside world."""

from dataclasses import dataclass

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
