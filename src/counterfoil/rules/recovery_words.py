"""The vocabulary of the recovery table, and the combinations of facts that cannot be.

The words are those of the table; each is one expression, so that a case reads as its row does.
"""

from dataclasses import dataclass

from counterfoil.rules.recovery_conditions import Condition, any_of, where
from counterfoil.rules.recovery_facts import (
    Attempt,
    Authority,
    Budget,
    Evidence,
    Key,
    Lookup,
    Resolution,
    Sender,
    Sent,
    Status,
    Stop,
)

# What our own record says.
OPEN = where(Status.PREPARED, Status.IN_FLIGHT, Status.UNKNOWN)
CLOSED = ~OPEN
NEVER_SENT = where(Sent.NO)
MAYBE_SENT = where(Sent.MAYBE)
LIVE = where(Attempt.LIVE)
STOPPED = ~where(Stop.NONE)
INCIDENT_OPEN = where(Stop.INCIDENT)
SPENT = where(Budget.SPENT)
NOT_YET = where(Budget.NOT_YET)
LAPSED = where(Authority.MISSING, Authority.EXPIRED, Authority.MISMATCHED, Authority.REVOKED)
FORBIDDEN = where(Authority.REJECTED, Authority.WITHDRAWN)
PENDING = where(Authority.PENDING)
GO = where(Stop.NONE) & where(Budget.LEFT) & where(Authority.NOT_NEEDED, Authority.VALID)

# What the receiver says.
ACCEPTED = where(Evidence.ACCEPTED)
REFUSED = where(Evidence.REFUSED)
MATCH = where(Lookup.MATCH)
MISMATCH = where(Lookup.MISMATCH)
SEVERAL = where(Lookup.SEVERAL)
DUE = where(Lookup.DUE)
FOUND = ACCEPTED | MATCH | MISMATCH | SEVERAL
CONTRADICTED = (where(Status.SUCCEEDED) & (REFUSED | where(Lookup.MISMATCH, Lookup.SEVERAL, Lookup.ABSENT_AUTH))) | (
    where(Status.FAILED) & FOUND
)

# What a person said. Only "succeeded" and "failed" judge; "again" orders.
NO_RESOLUTION = where(Resolution.NONE)
JUDGED = where(Resolution.SUCCEEDED, Resolution.FAILED)

# An open operation that is found is one of three: unexplained, recognised, or a clash. One that is not is quiet.
UNEXPLAINED = OPEN & (SEVERAL | (FOUND & NEVER_SENT))
RECOGNISED = OPEN & ~UNEXPLAINED & ((ACCEPTED & ~MISMATCH) | (MATCH & ~REFUSED))
CLASH = OPEN & ~UNEXPLAINED & (MISMATCH | (MATCH & REFUSED))
QUIET = OPEN & ~FOUND
NEW = QUIET & NEVER_SENT
UNDECIDED = QUIET & MAYBE_SENT & ~LIVE & ~REFUSED
DOUBT = UNDECIDED & ~JUDGED

# The three ways in which a second send may be allowed. `partly` closes two of them: the refusal that came first says
# nothing about the try that is still open, and a repeat could be answered with that refusal.
_UNMIXED = NO_RESOLUTION & ~where(Evidence.PARTLY)
HARMLESS = _UNMIXED & where(Key.OPEN)
ABSENT = _UNMIXED & where(Key.NONE, Key.CLOSED) & where(Lookup.ABSENT_AUTH) & where(Sender.GONE)
ORDERED = where(Resolution.AGAIN_NEW) | (where(Resolution.AGAIN_SAME) & where(Key.OPEN))
WAY = DOUBT & (ORDERED | HARMLESS | ABSENT)
OVERTAKEN = DOUBT & where(Resolution.AGAIN_SAME) & where(Key.CLOSED, Key.UNUSABLE)


@dataclass(frozen=True, slots=True)
class Impossibility:
    """A combination that our own records can show only when something is wrong with them."""

    name: str
    sentence: str
    condition: Condition


IMPOSSIBLE: tuple[Impossibility, ...] = (
    Impossibility(
        "in_flight_without_attempt",
        "An operation in flight has an attempt.",
        where(Status.IN_FLIGHT) & where(Attempt.NONE),
    ),
    Impossibility(
        "live_outside_flight",
        "A prepared or unknown operation has no live attempt.",
        where(Status.PREPARED, Status.UNKNOWN) & LIVE,
    ),
    Impossibility(
        "outcome_without_send",
        "An unknown or succeeded operation was maybe sent.",
        where(Status.UNKNOWN, Status.SUCCEEDED) & NEVER_SENT,
    ),
    Impossibility(
        "live_without_sender",
        "A live attempt is maybe sent, and its sender is not gone.",
        LIVE & (NEVER_SENT | where(Sender.GONE)),
    ),
    Impossibility(
        "trace_of_no_send",
        "What was never sent has no sender to be gone, no refusal and no resolution.",
        NEVER_SENT & (where(Sender.GONE) | where(Evidence.REFUSED, Evidence.PARTLY) | ~NO_RESOLUTION),
    ),
    # Without this one, "every try is refused" would hold of no tries at all, and a lost try would be recorded as failed.
    Impossibility(
        "refusal_of_lost_attempts",
        "Maybe sent without an attempt exists only after a restore; no refusal can speak for tries that were lost.",
        MAYBE_SENT & where(Attempt.NONE) & where(Evidence.REFUSED, Evidence.PARTLY),
    ),
    Impossibility(
        "certainty_during_restore",
        "While a restore is unfinished every open operation is maybe sent, and no sender is gone.",
        where(Stop.RESTORED) & OPEN & (NEVER_SENT | where(Sender.GONE)),
    ),
    Impossibility(
        "absence_during_attempt",
        "A begun attempt voids what absence said.",
        LIVE & where(Lookup.ABSENT_AUTH, Lookup.ABSENT),
    ),
    Impossibility(
        "absence_left_a_try_open",
        "Absence with its sender gone closes that attempt, so no try is left open beside a refused one.",
        where(Evidence.PARTLY) & where(Lookup.ABSENT_AUTH) & where(Sender.GONE),
    ),
    Impossibility(
        "resolution_without_doubt",
        "A resolution exists only over an open doubt without a live attempt.",
        ~NO_RESOLUTION & (CLOSED | NEVER_SENT | LIVE),
    ),
    Impossibility(
        "busy_without_answer",
        "That the receiver is at work is known from its answer to an attempt.",
        where(Key.BUSY) & (NEVER_SENT | where(Attempt.NONE)),
    ),
    Impossibility(
        "same_key_without_key",
        "An order to send under the same key presupposes a key.",
        where(Resolution.AGAIN_SAME) & where(Key.NONE),
    ),
    Impossibility(
        "failed_while_live",
        "A failed operation has no live attempt.",
        where(Status.FAILED) & LIVE,
    ),
)
"""Every combination that cannot be, with its reason. They overlap; each also holds somewhere alone."""

INCONSISTENT = any_of(*(impossibility.condition for impossibility in IMPOSSIBLE))
