"""What a receiver sends by itself, and what a sweep of a receiver has counted."""

from dataclasses import dataclass
from enum import StrEnum


class DeliveryState(StrEnum):
    """How far a delivery came. It is worked out again from the stored bytes at any time, so it is no evidence."""

    STORED = "stored"  # on disk, and not matched yet
    MATCHED = "matched"  # a receipt of an operation
    ORPHAN = "orphan"  # it names nothing that we know
    OTHER = "other"  # of a type that no contract names


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One row of `deliveries`: a signed message of a receiver, stored before it is matched. `body` is its bytes as text.

    `own_id` is the message's own id; the digest of its bytes where none is signed. `operation_id` and `receipt_id` are set
    once, when it is matched; `closed_at` when a person has weighed an orphan. `next_at`: when it is matched again.
    """

    delivery_id: str
    number: int
    receiver: str
    own_id: str
    type: str | None
    body: str
    body_digest: str
    received_at: int
    operation_id: str | None
    receipt_id: str | None
    closed_at: int | None
    closed_by: str | None
    reason: str | None
    state: DeliveryState = DeliveryState.STORED
    next_at: int | None = None
    tries: int = 0
    seen: int = 1  # how often it came


DELIVERY_VOLATILE = frozenset({"state", "next_at", "tries", "seen"})


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """One row of `sweeps`: an operation that is counted at its receiver again after it was closed. No evidence.

    `asked` is how often it was; `count` is what the newest question showed, None before the first; `since` is when more
    than one record was first seen.
    """

    operation_id: str
    receiver: str
    name: str
    closed_at: int
    next_at: int | None
    asked: int = 0
    asked_at: int | None = None
    count: int | None = None
    since: int | None = None
    problem: str | None = None
    notice: str | None = None  # what was counted and is too little for an incident
