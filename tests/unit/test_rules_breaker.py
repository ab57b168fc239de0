"""A receiver's breaker: what an attempt says of it, when it opens, who tries afterwards. Times in microseconds."""

from datetime import timedelta

import pytest

from counterfoil.model.breaker import Breaker
from counterfoil.model.exchange import HELD_BACK, STOPPED, Exchange
from counterfoil.model.slots import TapRecord
from counterfoil.rules.breaker import Told, after, holds_until, in_words, opened_by, shut, told, tried
from counterfoil.rules.tap import new_tap

SECOND = 1_000_000
BREAKER = Breaker(3, pause=timedelta(seconds=10), longest=timedelta(seconds=35))
WORKS = Exchange("body", True, 200, body=b"{}")
REFUSED = Exchange("body", True, 422, body=b"{}")
BUSY = Exchange("body", True, 429, body=b"{}")
DOWN = Exchange("body", True, 503, body=b"{}")
SILENT = Exchange("request", True, problem="ReadTimeout")
UNREACHED = Exchange("nothing", False, problem="ConnectError")
CUT = Exchange("headers", True, 200, problem="RemoteProtocolError")


@pytest.mark.parametrize(
    ("exchange", "says"),
    [
        (WORKS, Told.WORKS), (REFUSED, Told.WORKS), (BUSY, Told.NOTHING), (DOWN, Told.FAILS), (SILENT, Told.FAILS),
        (UNREACHED, Told.FAILS), (CUT, Told.FAILS), (None, Told.NOTHING),
        (Exchange("request", True, problem=f"{STOPPED}CancelledError"), Told.NOTHING),
        *((Exchange("connected", False, problem=ours), Told.NOTHING) for ours in sorted(HELD_BACK)),
    ],
)  # fmt: skip
def test_what_an_attempt_says_of_its_receiver(exchange: Exchange | None, says: Told) -> None:
    assert told(exchange) is says


@pytest.mark.parametrize(
    ("exchange", "words"),
    [
        (DOWN, "answered 503"),
        (SILENT, "gave no answer"),
        (UNREACHED, "could not be reached"),
        (CUT, "gave half an answer"),
    ],
)
def test_a_failure_in_words(exchange: Exchange, words: str) -> None:
    assert in_words(exchange) == words


def failed(tap: TapRecord, times: int, at: int = 0) -> TapRecord:
    for n in range(times):
        tap = after(tap, BREAKER, DOWN, f"att_{n}", at)
    return tap


def test_it_opens_after_so_many_failures_in_a_row_and_an_answer_in_between_begins_anew() -> None:
    two = failed(new_tap("crm"), 2)
    assert holds_until(two, 0) is None
    assert after(two, BREAKER, REFUSED, "att", 0) == new_tap("crm")
    assert after(two, BREAKER, BUSY, "att", 0) == two
    three = failed(two, 1, at=5)
    assert holds_until(three, 5) == 5 + 10 * SECOND
    assert (three.failures, three.problem, opened_by(two, three)) == (3, "answered 503", True)


def test_after_the_pause_one_tries_and_the_others_wait_for_it() -> None:
    opened = failed(new_tap("crm"), 3)
    over = 10 * SECOND
    assert holds_until(opened, over - 1) == over and holds_until(opened, over) is None
    trying = tried(opened, "att_try", over + SECOND)
    assert holds_until(trying, over) == over + SECOND
    assert holds_until(trying, over + SECOND) is None, "the one that tried never ended: another tries"
    assert after(trying, BREAKER, WORKS, "att_before", over) == trying, "it left before the breaker opened"
    assert after(trying, BREAKER, WORKS, "att_try", over) == shut(trying) == new_tap("crm")
    freed = after(trying, BREAKER, None, "att_try", over)
    assert holds_until(freed, over) is None and freed.open_until == opened.open_until


def test_each_failed_try_doubles_the_pause_up_to_the_longest() -> None:
    tap, pauses = failed(new_tap("crm"), 3), list[int]()
    for _ in range(4):
        assert tap.open_until is not None
        now = tap.open_until
        before = tap
        tap = after(tried(tap, "att_try", now + 1), BREAKER, SILENT, "att_try", now)
        assert opened_by(before, tap) and tap.open_until is not None
        pauses.append((tap.open_until - now) // SECOND)
    assert pauses == [20, 35, 35, 35]
    assert Breaker().pause_us(10_000) == 600 * SECOND


def test_without_a_pause_nobody_tries() -> None:
    assert tried(new_tap("crm"), "att", 9) == new_tap("crm")
