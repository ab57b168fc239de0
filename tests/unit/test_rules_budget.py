"""What is left of a budget, how long a pause is, and what a receiver may ask for: a table of cases each."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.people import PersonRecord
from counterfoil.model.run import ParkReason
from counterfoil.rules.authority import acts_alone, may_decide, roles_of
from counterfoil.rules.budget import budget_left, pause_before
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
