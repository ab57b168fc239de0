"""From records to facts to rulings: each sharpened rule of the design, by an example on both sides of it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Reference, Webhook
from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.rules.evidence import Sighting, judge_sightings, match_webhook
from counterfoil.rules.gather import Situation, gather, next_look_at
from counterfoil.rules.key_window import repeat_until, same_bytes, scope_digest
from counterfoil.rules.recovery import impossibilities, rule
from tests.unit.operation_records import (
    ASKED,
    HOUR,
    KEY,
    MINUTE,
    SECOND,
    START,
    answered,
    attempt,
    contract,
    find,
    in_doubt,
    installation,
    lookup,
    operation,
    receipt,
    review,
    situation,
)

UNKNOWN = operation(status=OperationStatus.UNKNOWN, sent=1)
FLIGHT = operation(status=OperationStatus.IN_FLIGHT, sent=1)
BEGAN = START + MINUTE  # the first attempt
OVER = BEGAN + 30 * SECOND  # its deadline
NO_KEY = contract(lookup=ASKED)
COUNTS = OVER + 5 * MINUTE + 30 * SECOND  # from when absence counts


def letter(whole: Situation) -> str:
    facts = gather(whole)
    assert not [problem.name for problem in impossibilities(facts)]
    return rule(facts)[0].letter


def facts_of(whole: Situation, *names: str) -> tuple[str, ...]:
    facts = gather(whole)
    return tuple(str(getattr(facts, name)) for name in names)


def keyed(**parts: Any) -> Contract:
    return contract(key=IdempotencyKey(**{"header": "K", "retention": timedelta(hours=24), **parts}))


# --- never sent, live, over ------------------------------------------------------------------------------------------


def test_what_was_never_sent_is_sent() -> None:
    assert letter(situation()) == "P"


def test_a_live_attempt_is_waited_for() -> None:
    live = attempt(sender_gone_at=None)
    whole = in_doubt(attempts=(live,), now=OVER - 1)
    assert (letter(whole), next_look_at(whole)) == ("F", OVER)
    assert letter(replace(whole, now=OVER)) == "R"


def test_one_live_attempt_among_others_is_enough_to_wait() -> None:
    attempts = (attempt(1, sender_gone_at=None, at=START + 2 * MINUTE), attempt(2, at=START + MINUTE))
    assert letter(in_doubt(attempts=attempts, now=START + 2 * MINUTE + 1)) == "F"


def test_a_sender_that_is_proven_gone_is_not_waited_for() -> None:
    assert letter(in_doubt(now=BEGAN + 5 * SECOND)) == "R"


@pytest.mark.parametrize(
    "harmless", [attempt(sent=0, ended_at=BEGAN + 1, reached="nothing"), answered(1, 429, "not_applied")]
)
def test_an_attempt_without_effect_leaves_the_operation_never_sent(harmless: Any) -> None:
    whole = in_doubt(attempts=(harmless,), contract=NO_KEY)
    assert facts_of(whole, "sent", "attempt", "sender", "evidence") == ("no", "over", "not_proven", "none")
    assert letter(whole) == "P"
    assert letter(replace(whole, attempts=(harmless, attempt(2)))) == "U"


def test_unknown_stays_maybe_sent_even_when_its_attempt_proves_harmless_late() -> None:
    late = answered(1, 429, "not_applied")
    assert facts_of(in_doubt(operation=UNKNOWN, attempts=(late,)), "sent") == ("maybe",)


def test_maybe_sent_without_an_attempt_has_no_proven_sender() -> None:
    whole = situation(operation=operation(sent=1))
    assert facts_of(whole, "sent", "sender") == ("maybe", "not_proven")


# --- the key ---------------------------------------------------------------------------------------------------------


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


# --- evidence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["reply", "webhook", "statement"])
def test_the_receiver_s_word_is_evidence(how: str) -> None:
    assert letter(in_doubt(receipts=(receipt(how, START + HOUR),))) == "E"


@pytest.mark.parametrize("how", ["lookup", "person"])
def test_our_own_conclusions_are_no_new_evidence(how: str) -> None:
    assert letter(in_doubt(receipts=(receipt(how, START + HOUR),))) == "R"


def test_an_applied_answer_wins_over_a_refused_one() -> None:
    both = (answered(1, 402, "refused"), answered(2, 200, "applied"))
    assert letter(in_doubt(attempts=both)) == "E"


def test_a_refusal_closes_the_operation_only_when_every_other_try_is_closed() -> None:
    refused = answered(2, 402, "refused")
    assert letter(in_doubt(attempts=(refused,))) == "H"
    assert letter(in_doubt(attempts=(answered(1, 429, "not_applied"), refused))) == "H"
    assert letter(in_doubt(attempts=(attempt(1), refused))) == "Z"
    assert letter(in_doubt(attempts=(attempt(1), refused), contract=contract(key=KEY, lookup=ASKED))) == "U"


def test_a_replayed_refusal_speaks_for_every_try_under_its_key() -> None:
    saves = keyed(saves={"2xx", "4xx"}, replay_marker={"X-Replayed": "1"})
    replay = answered(2, 402, "refused", replayed=True)
    assert letter(in_doubt(contract=saves, attempts=(attempt(1), replay))) == "H"
    for other in (
        {"contract": keyed(saves={"2xx"})},  # not kept under the key
        {"contract": contract(lookup=None)},  # no key at all
        {"attempts": (attempt(1), answered(2, 402, "refused", replayed=False))},  # not marked as a replay
        {"attempts": (attempt(1), answered(2, 402, "refused"))},  # no mark is known
        {"attempts": (attempt(1, key_number=1), replay)},  # another key
        {"attempts": (attempt(1, idempotency_key="other"), replay)},
        {"attempts": (attempt(1, scope="sha256:old"), replay)},  # another scope
        {"attempts": (attempt(3), replay)},  # begun after the replay
        {"attempts": (attempt(1), replace(replay, started_at=START + 23 * HOUR))},  # the window was over
        {"attempts": (attempt(1), replace(replay, exchange=None))},  # not recorded
        {"attempts": (attempt(1), replace(replay, answer_status=None))},
    ):
        whole = in_doubt(**{"contract": saves, "attempts": (attempt(1), replay), **other})
        assert facts_of(whole, "evidence") == ("partly",)


# --- absence ---------------------------------------------------------------------------------------------------------


def test_not_found_counts_only_after_late_arrival_and_visibility() -> None:
    early = lookup("absent", at=COUNTS - 1)
    whole = in_doubt(contract=NO_KEY, lookups=(early,), now=COUNTS - 1)
    assert (letter(whole), next_look_at(whole)) == ("V", COUNTS)
    assert letter(replace(whole, now=COUNTS)) == "U"
    assert letter(replace(whole, lookups=(lookup("absent", at=COUNTS),), now=COUNTS)) == "S"


def test_absence_counts_from_the_proof_that_the_sender_is_gone() -> None:
    gone = attempt(sender_gone_at=OVER + HOUR)
    asked = (lookup("absent", at=COUNTS + MINUTE),)
    assert letter(in_doubt(contract=NO_KEY, attempts=(gone,), lookups=asked, now=OVER + HOUR + 1)) == "V"


def test_absence_with_a_sender_that_is_not_proven_gone_is_for_a_person() -> None:
    frozen = attempt(sender_gone_at=None)
    whole = in_doubt(contract=NO_KEY, attempts=(frozen,), lookups=(lookup("absent", at=COUNTS),), now=COUNTS)
    assert facts_of(whole, "lookup", "sender") == ("absent_auth", "not_proven")
    assert letter(replace(whole, now=COUNTS + 99_999 * HOUR)) == "Z"


def test_absence_closes_the_last_try_beside_a_refused_one() -> None:
    both = (attempt(1), answered(2, 402, "refused"))
    asked = (lookup("absent", at=START + HOUR),)
    assert letter(in_doubt(contract=NO_KEY, attempts=both, lookups=asked)) == "H"


@pytest.mark.parametrize(
    "question",
    [
        {"consistency": None},
        {"visible_within": None},
        {"arrives_within": None},
        {"absence_authorises": False},
    ],
)
def test_absence_authorises_only_by_a_contract_that_says_all_it_takes(question: Any) -> None:
    asked = (lookup("absent", at=START + HOUR),)
    assert letter(in_doubt(contract=NO_KEY, lookups=asked)) == "S"
    assert letter(in_doubt(contract=contract(lookup=replace(ASKED, **question)), lookups=asked)) == "Z"


def test_an_incomplete_walk_has_not_looked_everywhere() -> None:
    assert letter(in_doubt(contract=NO_KEY, lookups=(lookup("absent", at=START + HOUR, complete=0),))) == "Z"


def test_a_begun_attempt_voids_what_absence_said() -> None:
    asked = (lookup("absent", at=START + HOUR, attempts=1),)
    two = (attempt(1), attempt(2))
    assert letter(in_doubt(contract=NO_KEY, attempts=two[:1], lookups=asked)) == "S"
    assert letter(in_doubt(contract=NO_KEY, attempts=two, lookups=asked)) == "U"
    live = attempt(2, at=START + HOUR, sender_gone_at=None)
    facts = in_doubt(contract=NO_KEY, attempts=(two[0], live), lookups=asked)
    assert facts_of(facts, "lookup") == ("too_early",)


def test_an_unreachable_receiver_is_asked_again_after_a_pause() -> None:
    asked = (lookup("absent", at=START + HOUR), lookup("unreachable", at=START + 2 * HOUR, n=2))
    whole = in_doubt(contract=NO_KEY, lookups=asked, now=START + 2 * HOUR)
    assert (letter(whole), next_look_at(whole)) == ("V", START + 2 * HOUR + 10 * SECOND)
    assert letter(replace(whole, now=START + 2 * HOUR + 10 * SECOND)) == "U"


@pytest.mark.parametrize(("found", "case"), [("match", "E"), ("mismatch", "G"), ("several", "C")])
def test_what_was_seen_once_is_not_taken_back_by_a_later_absence(found: str, case: str) -> None:
    asked = (lookup(found, at=BEGAN + MINUTE), lookup("absent", at=START + HOUR, n=2))
    assert letter(in_doubt(contract=NO_KEY, lookups=asked)) == case


def test_the_worst_find_counts() -> None:
    asked = (lookup("mismatch", at=BEGAN + MINUTE), lookup("match", at=START + HOUR, n=2))
    assert letter(in_doubt(contract=NO_KEY, lookups=asked)) == "G"


def test_a_find_for_what_was_never_sent_opens_an_incident() -> None:
    assert letter(situation(contract=NO_KEY, lookups=(lookup("match", at=START + HOUR),))) == "C"
    assert letter(situation(receipts=(receipt("webhook", START + HOUR),))) == "C"
    assert letter(situation(receipts=(receipt("webhook", START + HOUR),), incident_open=True)) == "D"


def test_what_a_closed_incident_has_weighed_does_not_open_another() -> None:
    weighed = situation(receipts=(receipt("webhook", START + 1),), weighed_at=START + 2)
    assert letter(weighed) == "P"
    assert letter(replace(weighed, weighed_at=START)) == "C"


@pytest.mark.parametrize(
    ("finds_by", "seen", "result"),
    [
        ("operation_id", [], "absent"),
        ("operation_id", [Sighting("a", None)], "match"),
        ("key", [Sighting("a", None)], "match"),
        ("content", [Sighting("a", None)], "mismatch"),
        (None, [Sighting("a", None)], "mismatch"),
        (None, [Sighting("a", "sha256:p")], "match"),
        ("key", [Sighting("a", "sha256:other")], "mismatch"),
        ("key", [Sighting("a", "sha256:p"), Sighting("b", "sha256:p")], "several"),
        ("key", [Sighting("a", "sha256:p"), Sighting("a", "sha256:p")], "match"),
    ],
)
def test_existence_is_not_authorship(finds_by: Any, seen: list[Sighting], result: str) -> None:
    assert judge_sightings(contract(lookup=Lookup(find, finds_by=finds_by)), "sha256:p", seen) == result


def test_a_webhook_is_matched_by_its_type_our_id_and_its_own() -> None:
    made = contract(receipts=[Webhook(type="paid", operation="data.ref", dedupe="id")], reference=Reference(body="ref"))
    body = {"type": "paid", "id": "evt_1", "data": {"ref": "op_1"}}
    assert match_webhook(made, body) == ("op_1", "evt_1")
    for other in ({"type": "voided"}, {"data": {}}, {"data": "op_1"}, {"id": 7}):
        assert match_webhook(made, body | other) is None


# --- closed operations -----------------------------------------------------------------------------------------------

DONE = operation(status=OperationStatus.SUCCEEDED, sent=1, closed_at=START + HOUR)
FAILED = operation(status=OperationStatus.FAILED, sent=1, closed_at=START + HOUR)


@pytest.mark.parametrize(
    ("closed", "parts"),
    [
        (FAILED, {"receipts": (receipt("webhook", START + HOUR),)}),
        (FAILED, {"lookups": (lookup("match", at=START + 2 * HOUR),)}),
        (FAILED, {"attempts": (answered(1, 200, "applied", at=START + 2 * HOUR),)}),
        (DONE, {"lookups": (lookup("several", at=START + 2 * HOUR),)}),
        (DONE, {"lookups": (lookup("absent", at=START + 2 * HOUR),)}),
        (DONE, {"attempts": (answered(1, 402, "refused", at=START + 2 * HOUR),)}),
    ],
)
def test_new_evidence_against_a_closed_operation_is_an_incident(closed: Any, parts: Any) -> None:
    whole = in_doubt(**{"operation": closed, "contract": NO_KEY, "now": START + 3 * HOUR, **parts})
    assert letter(whole) == "A"
    assert letter(replace(whole, incident_open=True)) == "B"
    assert letter(replace(whole, weighed_at=START + 3 * HOUR)) == "B"


@pytest.mark.parametrize(
    ("closed", "parts"),
    [
        (FAILED, {"receipts": (receipt("webhook", START + HOUR - 1),)}),
        (FAILED, {"attempts": (answered(1, 402, "refused"),)}),
        (DONE, {"attempts": (answered(1, 200, "applied"),)}),
        (DONE, {"attempts": (answered(1, 402, "refused"),)}),
        (DONE, {"attempts": (answered(1, 200, "applied"), answered(2, 402, "refused", at=START + 2 * HOUR))}),
        (DONE, {"lookups": (lookup("mismatch", at=START + 1),)}),
        (replace(DONE, reused_from="op_0", sent=0), {"attempts": ()}),
    ],
)
def test_what_the_closing_has_weighed_says_nothing_new(closed: Any, parts: Any) -> None:
    assert letter(in_doubt(**{"operation": closed, "contract": NO_KEY, **parts})) == "B"


# --- people ----------------------------------------------------------------------------------------------------------


def judged(word: str, **parts: Any) -> Any:
    said = json.dumps({"as": word, "new_key": parts.pop("new_key", False)})
    return replace(UNKNOWN, resolution=said, resolved_at=START + HOUR, **parts)


def test_a_person_s_word_closes_a_doubt() -> None:
    assert letter(in_doubt(operation=judged("succeeded"), contract=NO_KEY)) == "I"
    assert letter(in_doubt(operation=judged("failed"), contract=NO_KEY)) == "J"


def test_an_order_to_send_again_holds_for_one_attempt() -> None:
    ordered = in_doubt(operation=judged("send-again"), now=START + 2 * HOUR)
    assert facts_of(ordered, "resolution") == ("again_same",)
    assert letter(ordered) == "Q"
    assert letter(replace(ordered, now=START + 30 * HOUR)) == "T"
    used = replace(ordered, attempts=(attempt(1), attempt(2, at=START + HOUR)))
    assert facts_of(used, "resolution") == ("none",)


def test_an_order_under_a_new_key_is_sent_whatever_became_of_the_old_one() -> None:
    ordered = in_doubt(operation=judged("send-again", new_key=True, key_number=1), now=START + 99 * HOUR)
    assert facts_of(ordered, "resolution", "key") == ("again_new", "open")
    assert letter(ordered) == "Q"
    again = replace(ordered, attempts=(attempt(1), attempt(2, at=START + 98 * HOUR, key_number=1)))
    assert letter(again) == "R"


def test_a_word_counts_only_over_a_doubt_as_it_stands() -> None:
    said = replace(judged("succeeded"), status=OperationStatus.IN_FLIGHT)
    live = attempt(sender_gone_at=None, at=START + HOUR)
    assert facts_of(in_doubt(operation=said, attempts=(live,)), "resolution") == ("none",)
    closed = replace(said, status=OperationStatus.SUCCEEDED)
    assert facts_of(in_doubt(operation=closed), "resolution") == ("none",)


@pytest.mark.parametrize(
    ("parts", "authority"),
    [
        ({}, "valid"),
        ({"review": None}, "missing"),
        ({"review": review(state=ReviewState.SUPERSEDED)}, "missing"),
        ({"review": review(state=ReviewState.OPEN)}, "pending"),
        ({"review": review(state=ReviewState.OPEN, expires_at=START + HOUR)}, "expired"),
        ({"review": review(state=ReviewState.EXPIRED)}, "expired"),
        ({"review": review(expires_at=START + HOUR)}, "expired"),
        ({"review": review(state=ReviewState.REJECTED)}, "rejected"),
        ({"review": review(state=ReviewState.REJECTED, ask_revision=1)}, "pending"),
        ({"review": review(void="restored")}, "revoked"),
        ({"review": review(incarnation=0)}, "revoked"),
        ({"authority_now": False}, "revoked"),
        ({"authority_now": None}, "revoked"),
        ({"review": review(digest="sha256:other")}, "mismatched"),
        ({"review": review(proposal_version=2)}, "mismatched"),
        ({"review": review(operation_id="op_2")}, "mismatched"),
        ({"review": review(used_by="att_of_another")}, "mismatched"),
        ({"review": review(scope='{"environment":"live"}')}, "mismatched"),
        ({"review": review(scope='{"business_key":"other"}')}, "mismatched"),
        ({"review": review(scope='{"scope":"sha256:old"}')}, "mismatched"),
        ({"review": review(scope='{"environment":"test","receiver":"bank","operation":"pay","amount":7}')}, "valid"),
        ({"operation": operation(withdrawn="cancelled")}, "withdrawn"),
        ({"review_needed": False}, "not_needed"),
    ],
)
def test_authority_is_what_it_is_now(parts: Any, authority: str) -> None:
    whole = situation(**{"review_needed": True, "review": review(), **parts})
    assert facts_of(whole, "authority") == (authority,)
    assert (letter(whole) == "P") == (authority in ("valid", "not_needed"))


def test_an_approval_drawn_on_by_this_operation_covers_its_repeat() -> None:
    whole = in_doubt(review_needed=True, review=review(used_by="att_1"))
    assert (letter(whole), next_look_at(whole)) == ("R", START + 8 * HOUR)


def test_lost_authority_forbids_sending_and_never_asking() -> None:
    both = contract(key=KEY, lookup=ASKED)
    for parts, with_lookup, without in (
        ({"review": review(expires_at=START)}, "U", "Y"),
        ({"review": review(state=ReviewState.REJECTED, ask_revision=1)}, "U", "Z"),
        ({"operation": replace(FLIGHT, withdrawn="cancelled")}, "U", "Z"),
    ):
        assert letter(in_doubt(contract=both, review_needed=True, **parts)) == with_lookup
        assert letter(in_doubt(review_needed=True, **parts)) == without


# --- stops and restores ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["suspended", "paused", "clock_jump", "other_doubt", "held"])
def test_a_stop_holds_every_send(stop: str) -> None:
    assert letter(situation(stop=stop)) == "L"
    assert letter(in_doubt(stop=stop)) == "W"


def test_the_budget_and_the_turn_are_respected() -> None:
    assert letter(situation(budget="spent")) == "M"
    whole = in_doubt(budget="not_yet", next_try_at=START + 2 * HOUR)
    assert (letter(whole), next_look_at(whole)) == ("V", START + 2 * HOUR)


OPEN = installation(incarnation=2, restore_state="open", restore_at=START + HOUR)
FINISHED = installation(incarnation=2, restore_state="finished", restore_at=START + HOUR)


def test_while_a_restore_is_open_everything_is_maybe_sent_and_nobody_is_gone() -> None:
    for whole in (situation(restore=OPEN), in_doubt(restore=OPEN), situation(stop="restored")):
        assert facts_of(whole, "stop", "sent", "sender") == ("restored", "maybe", "not_proven")
    assert facts_of(situation(restore=OPEN, incident_open=True), "stop", "sent") == ("incident", "maybe")
    asked = (lookup("absent", at=START + 9 * HOUR),)
    whole = in_doubt(contract=NO_KEY, restore=OPEN, lookups=asked, now=START + 9 * HOUR)
    assert facts_of(whole, "lookup") == ("absent",)


def test_after_a_restore_the_bytes_that_were_sent_are_unknown() -> None:
    for binding, key in ((None, "unusable"), ("replays", "unusable"), ("rejects", "open")):
        assert facts_of(in_doubt(contract=keyed(other_body=binding), restore=FINISHED), "key") == (key,)


def test_after_a_restore_what_was_prepared_before_its_end_may_have_been_sent() -> None:
    assert letter(situation(contract=NO_KEY, restore=FINISHED)) == "U"
    new = operation(incarnation=2, prepared_at=START + HOUR)
    assert facts_of(situation(operation=new, restore=FINISHED), "sent") == ("maybe",)
    newer = operation(incarnation=2, prepared_at=START + HOUR + 1)
    assert letter(situation(operation=newer, restore=FINISHED)) == "P"
    rejected = operation(status=OperationStatus.FAILED, closed_at=START)
    assert facts_of(situation(operation=rejected, restore=FINISHED), "sent") == ("no",)


def test_after_a_restore_absence_counts_from_its_end_and_senders_are_attested_gone() -> None:
    frozen = attempt(sender_gone_at=None)
    end = START + HOUR + 5 * MINUTE + 30 * SECOND
    for attempts in ((), (frozen,)):
        whole = in_doubt(contract=NO_KEY, attempts=attempts, operation=UNKNOWN, restore=FINISHED, now=end)
        assert letter(replace(whole, lookups=(lookup("absent", at=end - 1),))) == "U"
        assert letter(replace(whole, lookups=(lookup("absent", at=end),))) == "S"
    running = attempt(sender_gone_at=None, at=START + HOUR - 10 * SECOND)
    whole = in_doubt(attempts=(running,), restore=FINISHED)
    assert (letter(whole), facts_of(whole, "sender")) == ("F", ("not_proven",))
    later = attempt(sender_gone_at=None, at=START + HOUR + 1)
    assert facts_of(in_doubt(attempts=(later,), restore=FINISHED, now=START + 3 * HOUR), "sender") == ("not_proven",)


def test_after_a_restore_no_refusal_speaks_for_the_tries_that_were_lost() -> None:
    refused = answered(1, 402, "refused")
    assert facts_of(in_doubt(attempts=(refused,), restore=FINISHED), "evidence") == ("partly",)


def test_after_a_restore_the_window_may_have_begun_when_the_operation_did() -> None:
    rejects = keyed(other_body="rejects", margin=timedelta(0), arrives_within=timedelta(0))
    assert repeat_until(in_doubt(contract=rejects, restore=FINISHED)) == START + 24 * HOUR - 30 * SECOND


def test_nothing_changes_by_time_alone_when_only_a_person_can_tell() -> None:
    whole = in_doubt(contract=contract(procedure="Ask the desk."))
    assert (letter(whole), next_look_at(whole)) == ("Z", None)
