"""What goes out to a receiver: evenly, with a burst, and not before the receiver wants to be asked again. Pure."""

from dataclasses import replace

from counterfoil.model.slots import Rate, TapRecord

LONGEST_CLOSED_US = 3600 * 1_000_000  # a receiver that asks for more is tried once an hour
CLOSES = frozenset({429, 503})


def free_at(tap: TapRecord | None, rate: Rate) -> int:
    """When the next attempt may leave, in microseconds; 0: at once, nothing has left yet.

    The bucket in its shortest form: `next_at` moves on by one interval for each attempt, and may be ahead of now by what a
    burst allows.
    """
    return 0 if tap is None else tap.next_at - (rate.at_once - 1) * rate.interval_us


def drawn(tap: TapRecord, rate: Rate, now: int) -> TapRecord:
    """The tap after one more attempt."""
    return replace(tap, next_at=max(tap.next_at, now) + rate.interval_us)


def room(tap: TapRecord | None, rate: Rate, now: int) -> int:
    """How many attempts may leave now."""
    ahead = 0 if tap is None else max(0, tap.next_at - now)
    return max(0, rate.at_once - -(-ahead // rate.interval_us))


def closed_until(tap: TapRecord | None, now: int) -> int | None:
    """Until when the receiver asked to be left alone; None: it did not, or that is over."""
    return tap.closed_until if tap is not None and (tap.closed_until or 0) > now else None


def closed(tap: TapRecord, status: int, retry_after_us: int, now: int) -> TapRecord:
    """The tap after an answer that asks for a pause. An earlier one that asked for longer stands."""
    until = now + min(retry_after_us, LONGEST_CLOSED_US)
    if until <= (tap.closed_until or 0):
        return tap
    return replace(tap, closed_until=until, closed_by=status)


def new_tap(receiver: str) -> TapRecord:
    """Nothing has left yet."""
    return TapRecord(receiver, 0, None, None)
