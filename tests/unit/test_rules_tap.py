"""A receiver's tap: evenly, with a burst, and closed as long as the receiver asked for. Times in microseconds."""

from datetime import timedelta
from itertools import product

import pytest

from counterfoil.model.slots import Rate, TapRecord
from counterfoil.rules.tap import LONGEST_CLOSED_US, closed, closed_until, drawn, free_at, new_tap, room

SECOND = 1_000_000
RATES = [
    Rate(count, per=timedelta(seconds=1), burst=burst) for count, burst in product((1, 3, 7), (None, 1, 2, 5))
]  # 7 does not divide a second


@pytest.mark.parametrize(
    ("rate", "interval", "at_once"),
    [
        (Rate(4, per=timedelta(seconds=1)), SECOND // 4, 4),
        (Rate(4, per=timedelta(seconds=1), burst=1), SECOND // 4, 1),
        (Rate(10, per=timedelta(microseconds=1)), 1, 10),
    ],
)
def test_a_rate_in_its_parts(rate: Rate, interval: int, at_once: int) -> None:
    assert (rate.interval_us, rate.at_once) == (interval, at_once)


@pytest.mark.parametrize("rate", RATES)
def test_after_a_quiet_time_a_burst_leaves_and_then_one_each_interval(rate: Rate) -> None:
    now, tap = 10 * SECOND, new_tap("crm")
    for left in range(rate.at_once, 0, -1):
        assert room(tap, rate, now) == left
        assert free_at(tap, rate) <= now
        tap = drawn(tap, rate, now)
    assert room(tap, rate, now) == 0
    assert free_at(tap, rate) == now + rate.interval_us
    for _ in range(3):
        now = free_at(tap, rate)
        assert room(tap, rate, now - 1) == 0 and room(tap, rate, now) == 1
        tap = drawn(tap, rate, now)


@pytest.mark.parametrize("rate", RATES)
def test_what_was_not_used_is_kept_up_to_the_burst_and_no_further(rate: Rate) -> None:
    tap = drawn(new_tap("crm"), rate, 0)
    assert room(tap, rate, 1_000 * SECOND) == rate.at_once
    assert drawn(tap, rate, 1_000 * SECOND).next_at == 1_000 * SECOND + rate.interval_us


@pytest.mark.parametrize("rate", RATES)
def test_room_and_the_free_time_say_the_same(rate: Rate) -> None:
    for ahead in range(0, 12 * rate.interval_us, max(1, rate.interval_us // 3)):
        tap = TapRecord("crm", 5 * SECOND + ahead, None, None)
        assert (room(tap, rate, 5 * SECOND) > 0) == (free_at(tap, rate) <= 5 * SECOND)


def test_without_a_tap_nothing_has_left() -> None:
    rate = Rate(2, per=timedelta(seconds=1))
    assert (free_at(None, rate), room(None, rate, 7), closed_until(None, 7)) == (0, 2, None)


def test_a_closed_tap_is_closed_until_then_and_counts_on() -> None:
    tap = closed(drawn(new_tap("crm"), Rate(1, per=timedelta(seconds=1)), 0), 503, 2 * SECOND, 0)
    assert tap == TapRecord("crm", SECOND, 2 * SECOND, 503)
    assert closed_until(tap, 2 * SECOND - 1) == 2 * SECOND
    assert closed_until(tap, 2 * SECOND) is None
    assert drawn(tap, Rate(1, per=timedelta(seconds=1)), SECOND) == TapRecord("crm", 2 * SECOND, 2 * SECOND, 503)


def test_whoever_asked_for_longer_is_believed_but_for_an_hour_at_most() -> None:
    tap = closed(new_tap("crm"), 429, 60 * SECOND, 0)
    assert closed(tap, 503, SECOND, 0) is tap
    assert closed(tap, 503, 60 * SECOND, 1) == TapRecord("crm", 0, 60 * SECOND + 1, 503)
    assert closed(tap, 503, 10**18, 0).closed_until == LONGEST_CLOSED_US
