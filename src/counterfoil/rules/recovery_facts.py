"""The facts about one operation from which the recovery table rules.

All facts are taken over every attempt of the operation. For a closed operation, evidence that a person has already
judged, or that a closed incident has weighed, is no longer counted: only what is new can speak against it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import get_type_hints


class Status(StrEnum):
    """Where the operation stands in our own record."""

    PREPARED = "prepared"
    IN_FLIGHT = "in_flight"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Stop(StrEnum):
    """What forbids sending just now, whatever the authority; none of them forbids asking."""

    NONE = "none"
    RESTORED = "restored"  # a restore, or a copy opened elsewhere, is not finished
    SUSPENDED = "suspended"  # a person suspended writes
    PAUSED = "paused"  # it has no review, and neither a drill nor a waiver covers it
    INCIDENT = "incident"  # an incident is open for this business key
    CLOCK_JUMP = "clock_jump"  # the clocks disagree by more than the margin
    OTHER_DOUBT = "other_doubt"  # the run has another operation in doubt
    HELD = "held"  # a possible repeat, or a business key in conflict


class Authority(StrEnum):
    """The approval as it is now, checked on every attempt."""

    NOT_NEEDED = "not_needed"
    VALID = "valid"
    MISSING = "missing"
    PENDING = "pending"  # a review, or after a send a renewal, is open
    REJECTED = "rejected"
    EXPIRED = "expired"
    MISMATCHED = "mismatched"  # it covers another digest or scope
    REVOKED = "revoked"  # the reviewer or the acting side lost the right
    WITHDRAWN = "withdrawn"  # taken back, or the run was cancelled


class Sent(StrEnum):
    """Whether anything may have left. `no` must be proven by our own sending layer."""

    NO = "no"
    MAYBE = "maybe"


class Attempt(StrEnum):
    """The newest attempt. `over` means its deadline has passed or its end is recorded."""

    NONE = "none"
    LIVE = "live"
    OVER = "over"


class Sender(StrEnum):
    """Whether every earlier sender is proven gone. Elapsed time proves nothing; where nothing was sent, nobody is gone."""

    GONE = "gone"
    NOT_PROVEN = "not_proven"


class Evidence(StrEnum):
    """What the receiver's answers say."""

    NONE = "none"
    ACCEPTED = "accepted"
    REFUSED = "refused"  # every try is closed by a refusal, or proven without effect
    PARTLY = "partly"  # some try is refused and another is open; a try lost in a restore counts as open


class Key(StrEnum):
    """The newest key number at the receiver."""

    NONE = "none"  # the receiver takes no key
    OPEN = "open"  # a repeat would still arrive inside the window, with the same bytes and scope
    BUSY = "busy"  # the receiver said that it is at work under this key
    CLOSED = "closed"  # the window is over, or the last answer was not saved
    UNUSABLE = "unusable"  # poisoned, or bytes or scope differ


class Lookup(StrEnum):
    """The last question to the receiver about this operation, or why there is no answer."""

    IMPOSSIBLE = "impossible"  # the contract has no lookup
    DUE = "due"
    TOO_EARLY = "too_early"  # visibility or late-arrival time is not over
    MATCH = "match"
    MISMATCH = "mismatch"
    SEVERAL = "several"
    ABSENT_AUTH = "absent_auth"  # authoritative, and the contract says that absence authorises a send
    ABSENT = "absent"  # not found, which proves nothing
    UNREACHABLE = "unreachable"


class Resolution(StrEnum):
    """What a person said about the doubt as it stands."""

    NONE = "none"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    AGAIN_SAME = "again_same"  # send again under the same key
    AGAIN_NEW = "again_new"  # send again under a new key number


class Budget(StrEnum):
    """Whether another try is paid for, and due."""

    LEFT = "left"
    NOT_YET = "not_yet"
    SPENT = "spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One combination of facts. None has a default: a fact nobody looked at must not look like a good one."""

    status: Status
    stop: Stop
    authority: Authority
    sent: Sent
    attempt: Attempt
    sender: Sender
    evidence: Evidence
    key: Key
    lookup: Lookup
    resolution: Resolution
    budget: Budget


FACTS: dict[str, type[StrEnum]] = get_type_hints(Facts)
"""The kind of each fact by its name, in the order of the fields."""
