"""What the recovery table may say to do, and why."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a ruling tells the engine to do."""

    NOTHING = "nothing"
    RECORD_SUCCESS = "record_success"
    RECORD_FAILURE = "record_failure"
    CLOSE_NEVER_SENT = "close_never_sent"
    WAIT = "wait"
    SEND = "send"
    REPEAT = "repeat"
    LOOK_UP = "look_up"
    OPEN_REVIEW = "open_review"
    OPEN_RENEWAL = "open_renewal"
    HOLD = "hold"
    ASK_PERSON = "ask_person"
    OPEN_INCIDENT = "open_incident"


class Ask(StrEnum):
    """Why a person is asked. `budget` stands for whichever budget is spent; the facts do not say which."""

    DUPLICATE_FOUND = "duplicate_found"
    RECEIVER_MISMATCH = "receiver_mismatch"
    BUDGET = "budget"
    ORDER_OVERTAKEN = "order_overtaken"
    OUTCOME_UNKNOWN = "outcome_unknown"
    INCONSISTENT = "inconsistent"


class Until(StrEnum):
    """What is waited for. Where several are, the first of this list."""

    ATTEMPT_OVER = "attempt_over"
    RECEIVER_DONE = "receiver_done"
    VISIBLE = "visible"
    REACHABLE = "reachable"
    REVIEW = "review"
    RENEWAL = "renewal"
    NEXT_TRY = "next_try"


@dataclass(frozen=True, slots=True)
class Ruling:
    """`reason` is an `Ask` when a person is asked, an `Until` for a wait, a `Stop` for a hold, otherwise None."""

    kind: Kind
    reason: str | None = None
