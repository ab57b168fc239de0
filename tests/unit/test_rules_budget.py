"""What is left of a budget, how long a pause is, and what a receiver may ask for: a table of cases each."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.budget import Budget, Scope, SharedBudget
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import BUDGET_REASONS, ParkReason
from counterfoil.rules.authority import acts_alone, may_decide, roles_of
from counterfoil.rules.budget import (
    CALLS,
    ELAPSED,
    RESERVE_ELAPSED_US,
    RESERVE_TOKENS,
    budget_left,
    covered,
    day_of,
    in_force,
    kind_of,
    limits_of,
    measured,
    minus,
    of_attempt,
    of_model,
    of_try,
    overdrawn,
    pause_before,
    plus,
    reason_of,
    tokens_of,
)
from counterfoil.rules.retry import LONGEST_US, retry_after_us
from counterfoil.testing.conformance.samples import run_named

SECOND = 1_000_000
LIMITS = {"attempts": 3, "elapsed_us": 100, "spend_micros": 1000}
RUN = replace(run_named("run_1", 1), started_at=1000, waited_us=0, failed_tries=0, spent_micros=0, reserved_micros=0)

# (what the run has used, now, the reserve of the next model call, the reason to stop)
BUDGETS: dict[str, tuple[dict[str, int | None], int, int, ParkReason | None]] = {
    "nothing used": ({}, 1000, 0, None),
    "one try left": ({"failed_tries": 2}, 1000, 0, None),
    "no try left": ({"failed_tries": 3}, 1000, 0, ParkReason.BUDGET_ATTEMPTS),
    "tries overdrawn": ({"failed_tries": 4}, 1000, 0, ParkReason.BUDGET_ATTEMPTS),
    "the last microsecond": ({}, 1100, 0, None),
    "time is over": ({}, 1101, 0, ParkReason.BUDGET_ELAPSED),
    "waiting for people does not count": ({"waited_us": 900}, 2000, 0, None),
    "waiting counts only as long as it was": ({"waited_us": 899}, 2000, 0, ParkReason.BUDGET_ELAPSED),
    "never started": ({"started_at": None}, 10**15, 0, None),
    "money for exactly one call": ({"spent_micros": 500, "reserved_micros": 100}, 1000, 400, None),
    "money short by one": ({"spent_micros": 500, "reserved_micros": 101}, 1000, 400, ParkReason.BUDGET_SPEND),
    "a reserve in doubt counts": ({"reserved_micros": 1000}, 1000, 1, ParkReason.BUDGET_SPEND),
    "money is spent, and no model is asked": ({"spent_micros": 5000}, 1000, 0, None),
    "tries are named before time": ({"failed_tries": 3}, 9999, 5000, ParkReason.BUDGET_ATTEMPTS),
    "time is named before money": ({}, 9999, 5000, ParkReason.BUDGET_ELAPSED),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_budget(name: str) -> None:
    used, now, reserve, reason = BUDGETS[name]
    assert budget_left(LIMITS, replace(RUN, **used), now, spend_reserve=reserve) is reason


# (limits, used, reserved, needed, the kind that is lacking)
ROWS: dict[str, tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int], str | None]] = {
    "nothing is limited": ({}, {"tokens": 9}, {}, {"tokens": 9}, None),
    "what is not needed is not asked": ({"tokens": 1}, {"tokens": 9}, {}, {"attempts": 1}, None),
    "tokens for exactly one call": ({"tokens": 10}, {"tokens": 4}, {"tokens": 3}, {"tokens": 3}, None),
    "tokens short by one": ({"tokens": 10}, {"tokens": 4}, {"tokens": 4}, {"tokens": 3}, "tokens"),
    "the first call is paid for, however small the limit": ({"tokens": 1}, {}, {}, {"tokens": 3}, None),
    "and the second is not": ({"tokens": 1}, {"tokens": 1}, {}, {"tokens": 3}, "tokens"),
    "a limit of nothing pays for nothing": ({"tokens": 0}, {}, {}, {"tokens": 3}, "tokens"),
    "money in flight counts": ({"spend_micros": 100}, {}, {"spend_micros": 60}, {"spend_micros": 50}, "spend_micros"),
    "the last call": ({"calls:pay": 2}, {"calls:pay": 1}, {}, {"calls:pay": 1}, None),
    "no call left": ({"calls:pay": 2}, {"calls:pay": 1}, {"calls:pay": 1}, {"calls:pay": 1}, "calls:pay"),
    "calls of another name": ({"calls:pay": 1}, {"calls:pay": 1}, {}, {"calls:mail": 1}, None),
    "attempts below the limit": ({"attempts": 2}, {"attempts": 1}, {}, {"attempts": 1}, None),
    "an attempt in flight may fail": ({"attempts": 2}, {"attempts": 1}, {"attempts": 1}, {"attempts": 1}, "attempts"),
    "time is spent once it is reached": ({"elapsed_us": 5}, {"elapsed_us": 5}, {}, {"elapsed_us": 60}, "elapsed_us"),
    "time below the limit pays for a long call": ({"elapsed_us": 5}, {"elapsed_us": 4}, {}, {"elapsed_us": 60}, None),
    "the first that lacks is named": (
        {"attempts": 1, "tokens": 1},
        {"attempts": 1, "tokens": 1},
        {},
        {"tokens": 1},
        "tokens",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_pays_for_a_call_or_lacks(name: str) -> None:
    limits, used, reserved, need, lacking = ROWS[name]
    assert overdrawn(limits, used, reserved, need) == lacking


FIGURES = st.dictionaries(st.sampled_from(["attempts", "elapsed_us", "tokens", "calls:pay"]), st.integers(0, 99))


@given(FIGURES, FIGURES, FIGURES)
def test_a_reserve_that_is_given_back_leaves_what_was_there(
    before: dict[str, int], held: dict[str, int], used: dict[str, int]
) -> None:
    back = minus(plus(before, held), held)
    assert back == {kind: amount for kind, amount in before.items() if amount}
    assert all(plus(before, used)[kind] >= amount for kind, amount in before.items())


@given(FIGURES, FIGURES, FIGURES, FIGURES)
def test_a_raise_never_takes_anything_away(
    limits: dict[str, int], raised: dict[str, int], used: dict[str, int], need: dict[str, int]
) -> None:
    higher = in_force(limits, raised)
    assert higher.keys() == limits.keys() and all(higher[kind] >= limit for kind, limit in limits.items())
    if overdrawn(limits, used, {}, need) is None:
        assert overdrawn(higher, used, {}, need) is None


def test_what_a_call_used() -> None:
    held = of_model("clerk", 50)
    assert held == {
        "attempts": 1,
        "elapsed_us": RESERVE_ELAPSED_US,
        "tokens": RESERVE_TOKENS,
        "spend_micros": 50,
        "calls:clerk": 1,
    }
    assert measured(held, {"tokens": 7}, 5) == {"tokens": 7, "elapsed_us": 5, "calls:clerk": 1}
    assert measured(held, {}, -5)["elapsed_us"] == 0, "a clock that went back takes nothing back"
    assert measured(of_attempt("pay", first=False), {"attempts": 1}, 5) == {"attempts": 1, "elapsed_us": 5}
    assert tokens_of({"input_tokens": 3, "output_tokens": None}) == 3 and tokens_of({}) == 0


def test_what_a_row_counts() -> None:
    figures = {"attempts": 1, "tokens": 2, "calls:pay": 1, "calls:mail": 1}
    assert covered(Scope.WORKFLOW, {"calls:pay": 9}, figures) == {"attempts": 1, "tokens": 2, "calls:pay": 1}
    assert covered(Scope.RUN, {"calls:pay": 9}, figures) == {"calls:pay": 1}, "a run counts the rest in its own row"


DAYS = [
    (0, "UTC", "1970-01-01"),
    (86_399_999_999, "UTC", "1970-01-01"),
    (86_400_000_000, "UTC", "1970-01-02"),
    (1_796_079_599_000_000, "Europe/Zurich", "2026-11-30"),  # 23:59:59 there
    (1_796_079_600_000_000, "Europe/Zurich", "2026-12-01"),  # 23:00 UTC
    (1_796_079_600_000_000, "America/New_York", "2026-11-30"),
]


@pytest.mark.parametrize(("at", "zone", "day"), DAYS)
def test_the_business_day(at: int, zone: str, day: str) -> None:
    assert day_of(at, zone) == day


def test_reasons_and_kinds_belong_together() -> None:
    for kind in ("attempts", "elapsed_us", "tokens", "spend_micros"):
        assert kind_of(reason_of(kind)) == kind
    assert reason_of("calls:pay") is ParkReason.BUDGET_CALLS and kind_of("budget_calls") == CALLS
    reasons = {reason_of(kind) for kind in ("attempts", "elapsed_us", "tokens", "spend_micros", "calls:x")}
    assert reasons == BUDGET_REASONS


def test_limits_as_they_are_stored() -> None:
    day = timedelta(days=1)
    own = Budget(attempts=1, elapsed=day, spend_usd=1, owner="lead", tokens=5, calls={"pay": 2})
    assert limits_of(own) == {"tokens": 5, "calls:pay": 2}
    shared = SharedBudget(name="s", scope="workflow", owner="lead", attempts=1, elapsed=day, tokens=5, spend_usd=0.25)
    assert limits_of(shared) == {"tokens": 5, "attempts": 1, "elapsed_us": 86_400_000_000, "spend_micros": 250_000}
    assert limits_of(SharedBudget(name="s", scope="workflow", owner="lead", calls={"pay": 1})) == {"calls:pay": 1}


PAUSES = [(0, 1, 10, 1), (1, 1, 10, 1), (2, 1, 10, 2), (3, 1, 10, 4), (4, 1, 10, 8), (5, 1, 10, 10), (10**9, 1, 10, 10)]


@pytest.mark.parametrize(("failed", "first", "longest", "pause"), PAUSES)
def test_pause(failed: int, first: int, longest: int, pause: int) -> None:
    assert pause_before(failed, first * SECOND, longest * SECOND) == pause * SECOND


@given(st.integers(0, 10**6), st.integers(1, 10**12), st.integers(1, 10**12))
def test_a_pause_never_shrinks_and_is_never_longer_than_the_longest(failed: int, first: int, longest: int) -> None:
    pause = pause_before(failed, first, longest)
    assert 0 < pause <= longest
    assert pause <= pause_before(failed + 1, first, longest)


ASKED = {
    "30": 30 * SECOND,
    " 7 ": 7 * SECOND,
    "0": 0,
    "86400": LONGEST_US,
    "99999999999999999999": LONGEST_US,  # a receiver cannot park us for ever
    "": None,
    "-1": None,
    "1.5": None,
    "soon": None,
    "٣": None,  # a digit, but not one of HTTP's
    "Wed, 21 Oct 2026 07:28:00 GMT": None,
}


@pytest.mark.parametrize("text", ASKED)
def test_retry_after(text: str) -> None:
    assert retry_after_us({"retry-after": text}) == ASKED[text]


def test_no_retry_after() -> None:
    assert retry_after_us({"x-retry-after": "3"}) is None


ANA = PersonRecord("ana", '["manager", "lead"]', "", None, 0, None)
OSCAR = PersonRecord("oscar", '["ops"]', "", None, 0, None)
PEOPLE = [ANA, OSCAR, PersonRecord("gone", '["ops"]', "", None, 0, 3)]
DECIDES = [
    (ANA, "manager", True),
    (ANA, "lead", True),
    (ANA, "ana", True),  # named by name
    (ANA, "ops", False),
    (ANA, "", False),
    (replace(ANA, revoked_at=5), "manager", False),
    (replace(ANA, stand_in_for="oscar"), "ops", True),  # a role of the person stood in for
    (replace(ANA, stand_in_for="oscar"), "oscar", True),
    (replace(ANA, stand_in_for="oscar"), "other", False),
    (replace(ANA, stand_in_for="oscar", revoked_at=5), "ops", False),
    (replace(ANA, stand_in_for="gone"), "ops", False),  # a revoked person gives nobody a right
    (replace(ANA, stand_in_for="nobody"), "ops", False),
    (replace(ANA, roles="[]"), "manager", False),
]


@pytest.mark.parametrize(("person", "role", "may"), DECIDES)
def test_who_may_decide(person: PersonRecord, role: str, may: bool) -> None:
    assert may_decide(person, role, PEOPLE) is may


def test_a_name_is_a_role_that_only_its_bearer_holds() -> None:
    assert roles_of(ANA) == {"ana", "manager", "lead"}


STAND_IN = PersonRecord("bea", "[]", "", "ana", 0, None)
ALONE = [
    (ANA, {"ana"}, False, True),
    (ANA, {"ana"}, True, False),
    (ANA, {"oscar"}, False, False),
    (ANA, set[str](), False, False),
    (STAND_IN, {"ana"}, False, True),  # she acts for ana
    (ANA, {"bea"}, False, True),  # ana's stand-in acted for her
    (OSCAR, {"bea"}, False, False),
]


@pytest.mark.parametrize(("person", "acted", "single", "alone"), ALONE)
def test_who_acts_alone(person: PersonRecord, acted: set[str], single: bool, alone: bool) -> None:
    assert acts_alone(person, frozenset(acted), [ANA, OSCAR, STAND_IN], single_person=single) is alone


def test_a_try_of_a_step_needs_its_call_once_and_time_where_time_is_counted() -> None:
    assert of_try("look", first=True, timed=True) == {CALLS + "look": 1, ELAPSED: RESERVE_ELAPSED_US}
    assert of_try("look", first=False, timed=True) == {ELAPSED: RESERVE_ELAPSED_US}
    assert of_try("look", first=True, timed=False) == {CALLS + "look": 1}
    assert of_try("look", first=False, timed=False) == {}


def test_retry_after_a_date_counts_from_the_answers_own_date() -> None:
    said = {"date": "Mon, 30 Nov 2026 12:00:00 GMT", "retry-after": "Mon, 30 Nov 2026 12:01:30 GMT"}
    assert retry_after_us(said) == 90_000_000
    assert retry_after_us(said | {"retry-after": said["date"]}) == 0
    assert retry_after_us({"retry-after": said["retry-after"]}) is None
