"""When a repeat under a key is harmless: both sides of each rule of the key."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.rules.gather import next_look_at
from counterfoil.rules.key_window import repeat_until, same_bytes, scope_digest
from tests.unit.operation_records import (
    ASKED,
    BEGAN,
    FLIGHT,
    HOUR,
    KEY,
    MINUTE,
    NO_KEY,
    OVER,
    SECOND,
    START,
    answered,
    attempt,
    contract,
    facts_of,
    in_doubt,
    keyed,
    letter,
    lookup,
)

# --- the key ------------------------------------------------------------------------------------------------------------


def test_a_repeat_must_still_arrive_inside_the_window() -> None:
    tight = keyed(margin=timedelta(0), arrives_within=timedelta(minutes=2))
    last = BEGAN + 24 * HOUR - 30 * SECOND - 2 * MINUTE  # minus the request's own timeout and its late arrival
    whole = in_doubt(contract=tight, now=last)
    assert repeat_until(whole) == last
    assert (letter(whole), next_look_at(whole)) == ("R", last + 1)
    assert letter(replace(whole, now=last + 1)) == "Z"


def test_unknown_margin_and_late_arrival_take_parts_of_the_window() -> None:
    whole = in_doubt(contract=keyed(retention=timedelta(minutes=20)))
    assert repeat_until(whole) == BEGAN + 20 * MINUTE - 30 * SECOND - 5 * MINUTE - 2 * MINUTE
    whole = in_doubt(contract=keyed(retention=timedelta(days=30)))
    assert repeat_until(whole) == BEGAN + 30 * 24 * HOUR - 30 * SECOND - HOUR - HOUR


def test_the_late_arrival_of_the_lookup_counts_for_the_key() -> None:
    both = contract(key=replace(KEY, margin=timedelta(0)), lookup=ASKED)
    assert repeat_until(in_doubt(contract=both)) == BEGAN + 24 * HOUR - 30 * SECOND - 5 * MINUTE


def test_the_account_s_own_window_replaces_the_vendor_s() -> None:
    short = keyed(account_retention=timedelta(hours=1), margin=timedelta(0), arrives_within=timedelta(0))
    assert repeat_until(in_doubt(contract=short)) == BEGAN + HOUR - 30 * SECOND


def test_the_window_counts_from_the_first_send_not_from_the_last() -> None:
    two = (attempt(1), attempt(2, at=START + 20 * HOUR))
    assert letter(in_doubt(attempts=two, now=START + 23 * HOUR)) == "Z"
    assert letter(in_doubt(attempts=two[1:], now=START + 23 * HOUR)) == "R"


def test_a_window_without_end_is_never_over() -> None:
    assert letter(in_doubt(contract=keyed(retention=timedelta.max), now=START + 99_999 * HOUR)) == "R"


def test_the_clock_of_the_window_starts_where_the_receiver_could_have_started_it() -> None:
    late = START + 20 * HOUR
    before = (answered(1, 429, "not_applied"), attempt(2, at=late))
    working = (attempt(1), answered(2, 409, "in_progress", at=late))
    for clock, of_before, of_working in (
        ("first_sent", BEGAN, BEGAN),
        ("first_accepted", late, BEGAN),
        ("completion", late, late),
        ("close", late, late),
        (None, BEGAN, BEGAN),
    ):
        plain = keyed(clock=clock, margin=timedelta(0), arrives_within=timedelta(0))
        window = 24 * HOUR - 30 * SECOND
        assert repeat_until(in_doubt(contract=plain, attempts=before)) == of_before + window
        assert repeat_until(in_doubt(contract=plain, attempts=working)) == of_working + window
    only = (answered(1, 429, "not_applied"),)
    assert repeat_until(in_doubt(contract=keyed(clock="completion"), attempts=only)) is None


@pytest.mark.parametrize(
    ("saves", "status", "key"),
    [
        (None, 500, "closed"),
        ({"2xx"}, 500, "closed"),
        ({"2xx", "5xx"}, 500, "unusable"),
        ({"2xx", "4xx"}, 418, "unusable"),
        ({"2xx", "4xx"}, 302, "closed"),
        ({"2xx"}, 200, "open"),
    ],
)
def test_an_answer_that_cannot_be_understood_is_saved_or_not(saves: Any, status: int, key: str) -> None:
    one = (answered(1, status, "ambiguous"),)
    assert facts_of(in_doubt(contract=keyed(saves=saves), attempts=one), "key") == (key,)


def test_a_success_that_cannot_be_understood_twice_will_not_be_the_third_time() -> None:
    two = (answered(1, 200, "ambiguous"), answered(2, 200, "ambiguous"))
    assert facts_of(in_doubt(attempts=two), "key") == ("unusable",)


def test_a_reply_that_was_cut_may_be_asked_for_again() -> None:
    cut = replace(answered(1, 402, "ambiguous"), exchange='{"problem":"cut"}')
    saved = keyed(saves={"2xx", "4xx"})
    assert facts_of(in_doubt(contract=saved, attempts=(cut,)), "key") == ("open",)
    assert facts_of(in_doubt(contract=saved, attempts=(replace(cut, exchange=None),)), "key") == ("unusable",)


@pytest.mark.parametrize("meaning", ["key_poisoned", "key_mismatch"])
def test_a_key_that_answers_for_something_else_is_looked_up(meaning: str) -> None:
    both = contract(key=KEY, lookup=ASKED)
    one = (answered(1, 500, meaning),)
    assert letter(in_doubt(contract=both, attempts=one)) == "U"
    absent = lookup("absent", at=START + HOUR)
    assert letter(in_doubt(contract=both, attempts=one, lookups=(absent,))) == "Z"
    recorded = replace(FLIGHT, key_state="poisoned")
    assert facts_of(in_doubt(operation=recorded), "key") == ("unusable",)


def test_a_changed_scope_makes_the_key_useless_unless_the_attempt_had_no_effect() -> None:
    other = attempt(scope="sha256:old")
    assert facts_of(in_doubt(attempts=(other,)), "key") == ("unusable",)
    refused = answered(1, 429, "not_applied", scope="sha256:old")
    assert facts_of(in_doubt(attempts=(refused, attempt(2))), "key") == ("open",)


def test_other_bytes_under_one_key_are_harmless_only_where_they_are_rejected() -> None:
    two = (attempt(1), attempt(2, request_digest="sha256:other"))
    for binding, key in ((None, "unusable"), ("replays", "unusable"), ("overwrites", "unusable"), ("rejects", "open")):
        whole = in_doubt(contract=keyed(other_body=binding), attempts=two)
        assert facts_of(whole, "key") == (key,)
        assert same_bytes(whole, "sha256:r") == (binding == "rejects")
    assert same_bytes(in_doubt(), "sha256:r")
    assert not same_bytes(in_doubt(), "sha256:new")
    assert same_bytes(in_doubt(contract=NO_KEY), "sha256:new")


def test_a_receiver_at_work_is_waited_for() -> None:
    working = answered(1, 409, "in_progress")
    whole = in_doubt(attempts=(working,), now=BEGAN + 2 * SECOND)
    assert (letter(whole), next_look_at(whole)) == ("V", BEGAN + 6 * SECOND)
    assert letter(replace(whole, now=BEGAN + 6 * SECOND)) == "R"
    told = replace(FLIGHT, in_progress_until=BEGAN + HOUR)
    assert next_look_at(replace(whole, operation=told)) == BEGAN + HOUR


@pytest.mark.parametrize(
    ("in_progress", "key"), [("both_may_fail", "busy"), ("refuses", "busy"), ("waits", "open"), (None, "open")]
)
def test_a_repeat_that_would_be_refused_for_the_first_waits_until_that_cannot_run(in_progress: Any, key: str) -> None:
    made = keyed(in_progress=in_progress, arrives_within=timedelta(minutes=1))
    whole = in_doubt(contract=made, now=OVER + MINUTE - 1)
    assert facts_of(whole, "key") == (key,)
    assert facts_of(replace(whole, now=OVER + MINUTE), "key") == ("open",)
    assert facts_of(replace(whole, attempts=(attempt(closed=1),)), "key") == ("open",)


def test_a_lock_that_lets_go_while_the_first_may_still_run_closes_the_key() -> None:
    made = keyed(lock_timeout=timedelta(minutes=10), arrives_within=timedelta(minutes=1))
    last = BEGAN + 10 * MINUTE - MINUTE - 30 * SECOND
    assert facts_of(in_doubt(contract=made, now=last), "key") == ("open",)
    assert facts_of(in_doubt(contract=made, now=last + 1), "key") == ("closed",)
    given_up = attempt(ended_at=OVER, answer_class="ambiguous")  # no answer came
    assert facts_of(in_doubt(contract=made, attempts=(given_up,), now=last + 1), "key") == ("closed",)
    ended = answered(1, 200, "ambiguous")
    assert facts_of(in_doubt(contract=made, attempts=(ended,), now=last + 1), "key") == ("open",)


@pytest.mark.parametrize("precondition", ["create_if_absent", "expected_version"])
def test_a_precondition_counts_as_an_open_key(precondition: Any) -> None:
    made = contract(precondition=precondition)
    assert letter(in_doubt(contract=made, now=START + 9_999 * HOUR)) == "R"
    both = contract(precondition=precondition, key=KEY)
    assert letter(in_doubt(contract=both, now=START + 9_999 * HOUR)) == "R"
    assert repeat_until(in_doubt(contract=both)) is None
    assert facts_of(in_doubt(operation=replace(FLIGHT, key_state="poisoned"), contract=both), "key") == ("unusable",)
    working = answered(1, 409, "in_progress")
    assert facts_of(in_doubt(contract=made, attempts=(working,), now=BEGAN + 2 * SECOND), "key") == ("busy",)


def test_a_key_number_that_no_open_try_has_used_protects_against_none() -> None:
    raised = replace(FLIGHT, key_number=1)
    assert facts_of(in_doubt(operation=raised), "key") == ("closed",)
    too_many = answered(2, 429, "not_applied", key_number=1)
    assert facts_of(in_doubt(operation=raised, attempts=(attempt(1), too_many)), "key") == ("closed",)
    assert facts_of(in_doubt(operation=raised, attempts=(attempt(1), attempt(2, key_number=1))), "key") == ("open",)
    refused = answered(1, 402, "refused")
    assert facts_of(in_doubt(operation=raised, attempts=(refused,)), "key") == ("open",)


def test_the_scope_covers_what_the_contract_says_and_when_unknown_all_that_can_be_seen() -> None:
    here = {"endpoint": "https://a", "environment": "test", "credential": "c1", "session": "w1"}
    for changed, unknown, endpoint_only, session in (
        ("endpoint", True, True, False),
        ("credential", True, False, False),
        ("session", False, False, True),
        ("environment", True, True, True),
    ):
        there = {**here, changed: "other"}
        for scope, differs in ((None, unknown), ({"endpoint"}, endpoint_only), ({"session"}, session)):
            made = keyed(scope=scope)
            assert (scope_digest(made, here) != scope_digest(made, there)) == differs, (changed, scope)
    assert scope_digest(NO_KEY, here).startswith("sha256:")
