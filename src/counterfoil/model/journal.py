"""A run's journal: entries in a hash chain over the bytes stored."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

GENESIS = bytes(32)


class EntryKind(StrEnum):
    SUBMITTED = "submitted"
    STARTED = "started"  # the first claim, or a claim after a crash
    STEP = "step"  # a result at a position
    STEP_FAILED = "step_failed"  # a final failure at a position
    TRY_FAILED = "try_failed"  # a try of a step, decision or operation failed; another may follow
    ASKED = "asked"
    DRAWN = "drawn"  # a call of a tool that a budget counts was begun
    LOST = "lost"  # a model call whose answer never came; counted, unmeasured
    DECISION = "decision"
    PROPOSAL = "proposal"
    PREPARED = "prepared"
    REVIEW = "review"
    ANSWER = "answer"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    IN_FLIGHT = "in_flight"
    CLASSIFIED = "classified"
    LOOKED_UP = "looked_up"
    RULED = "ruled"
    LATE = "late"
    CLOSED = "closed"
    RESOLVED = "resolved"
    INCIDENT_CLOSED = "incident_closed"
    TIMER = "timer"  # a sleep, a timeout or a wait was opened
    FIRED = "fired"
    SIGNAL = "signal"
    RECEIVED = "received"
    CHILD = "child"
    MESSAGE = "message"
    DOCUMENT = "document"
    SUSPENDED = "suspended"
    PARKED = "parked"
    RESUMED = "resumed"
    CANCEL_ASKED = "cancel_asked"
    FINISHED = "finished"
    TENDED = "tended"  # taken, handed over, put off, spoken about
    # facts that belong to no run: entries of the installation's own chain
    INSTALLED = "installed"
    PERSON = "person"
    WRITES = "writes"
    RESTORE = "restore"
    GRANT = "grant"
    TOKEN = "token"
    IDENTITY = "identity"
    APPROVAL_KEY = "approval_key"
    SIGNED_IN = "signed_in"
    IMPORTED = "imported"
    DELIVERED = "delivered"  # a receiver sent something by itself: stored; in a run's chain: a receipt of it
    WORKER = "worker"
    DRILL = "drill"
    WAIVER = "waiver"
    BUDGET = "budget"  # the limit of a shared budget was raised
    CONVERSATION = "conversation"  # begun, forked, reset, handed to another agent, other settings, imported


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `body` is JSON text, stored as it is hashed. `digest` is 32 bytes."""

    run_id: str
    sequence: int
    kind: EntryKind
    position: str | None
    name: str | None
    body: str
    at: int
    digest: bytes


def chained(
    head: bytes, run_id: str, sequence: int, kind: str, position: str | None, name: str | None, body: str, at: int
) -> bytes:
    """The digest of an entry: over the digest before it and every stored field, each with its end marked."""
    header = f"{run_id}\x1f{sequence}\x1f{kind}\x1f{position or ''}\x1f{name or ''}\x1f{at}\x1e"
    return hashlib.sha256(b"".join((head, header.encode(), body.encode()))).digest()
