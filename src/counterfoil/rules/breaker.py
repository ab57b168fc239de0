"""The circuit breaker of a receiver: what an attempt says of it, and when the next may try. Pure; times in microseconds.

It only ever forbids. Which operation may be sent, and whether a second time, is the recovery table's word alone: a try after a
pause is an attempt like any other, so it never is a second send of something doubtful.
"""

from dataclasses import replace
from enum import StrEnum

from counterfoil.model.breaker import Breaker
from counterfoil.model.exchange import HELD_BACK, STOPPED, Exchange
from counterfoil.model.slots import TapRecord

_BUSY = frozenset({408, 425, 429})  # not now: it says nothing of whether the receiver works


class Told(StrEnum):
    """What one attempt says of its receiver."""

    WORKS = "works"
    FAILS = "fails"
    NOTHING = "nothing"


def told(exchange: Exchange | None) -> Told:
    """No answer, a cut one and a 5xx are failures; a refusal is an answer. What we kept back ourselves says nothing."""
    if exchange is None or exchange.problem in HELD_BACK or (exchange.problem or "").startswith(STOPPED):
        return Told.NOTHING
    if exchange.status is None or exchange.status >= 500 or not exchange.complete:
        return Told.FAILS
    return Told.NOTHING if exchange.status in _BUSY else Told.WORKS


def in_words(exchange: Exchange) -> str:
    """What failed, without a word of the receiver's own: `answered 503`, `no answer`."""
    if exchange.status is None:
        return "could not be reached" if not exchange.sent else "gave no answer"
    return f"answered {exchange.status}" if exchange.complete else "gave half an answer"


def after(tap: TapRecord, breaker: Breaker, exchange: Exchange | None, attempt_id: str, now: int) -> TapRecord:
    """The tap after an attempt. While it is open only the trial's end moves it: others left before it opened."""
    said = told(exchange)
    if tap.open_until is not None:
        if tap.trial != attempt_id:
            return tap
        if said is Told.WORKS:
            return shut(tap)
        if said is Told.NOTHING:
            return replace(tap, trial=None, trial_until=None)  # another may try
        return _opened(tap, breaker, exchange, now)
    if said is Told.WORKS:
        return shut(tap) if tap.failures else tap
    if said is Told.NOTHING:
        return tap
    failed = replace(tap, failures=tap.failures + 1)
    return failed if failed.failures < breaker.failures else _opened(failed, breaker, exchange, now)


def _opened(tap: TapRecord, breaker: Breaker, exchange: Exchange | None, now: int) -> TapRecord:
    problem = tap.problem if exchange is None else in_words(exchange)
    until = now + breaker.pause_us(tap.opens)
    return replace(tap, problem=problem, opens=tap.opens + 1, open_until=until, trial=None, trial_until=None)


def shut(tap: TapRecord) -> TapRecord:
    """As before the first failure."""
    return replace(tap, failures=0, problem=None, opens=0, open_until=None, trial=None, trial_until=None)


def holds_until(tap: TapRecord, now: int) -> int | None:
    """Until when nothing may leave: the pause, or the end of the one attempt that tries. None: the next may leave."""
    if tap.open_until is None:
        return None
    if tap.open_until > now:
        return tap.open_until
    return tap.trial_until if (tap.trial_until or 0) > now else None


def tried(tap: TapRecord, attempt_id: str, deadline_at: int) -> TapRecord:
    """An attempt leaves. After a pause it is the one that tries."""
    return tap if tap.open_until is None else replace(tap, trial=attempt_id, trial_until=deadline_at)


def opened_by(before: TapRecord | None, now: TapRecord) -> bool:
    """Whether an attempt has just opened it."""
    return now.opens > (0 if before is None else before.opens)
