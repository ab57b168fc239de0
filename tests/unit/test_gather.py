"""From records to facts to rulings: what was sent, who may send, what stops it. Both sides of each rule."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.rules.gather import next_look_at
from counterfoil.rules.key_window import repeat_until
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
    UNKNOWN,
    answered,
    attempt,
    contract,
    facts_of,
    in_doubt,
    installation,
    keyed,
    letter,
    lookup,
    operation,
    review,
    situation,
)

# --- never sent, live, over ---------------------------------------------------------------------------------------------


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


# --- people -------------------------------------------------------------------------------------------------------------


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
        ({"review": review(scope='{"scope":"sha256:s"}')}, "valid"),
        ({"review": review(scope='{"scope":"sha256:s"}'), "approval_scope_now": "sha256:rotated"}, "mismatched"),
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


# --- stops and restores -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["suspended", "paused", "clock_jump", "other_doubt", "held"])
def test_a_stop_holds_every_send(stop: str) -> None:
    assert letter(situation(stop=stop)) == "L"
    assert letter(in_doubt(stop=stop)) == "W"


def test_the_budget_and_the_turn_are_respected() -> None:
    assert letter(situation(budget="spent")) == "M"
    whole = in_doubt(budget="not_yet", next_try_at=START + 2 * HOUR)
    assert (letter(whole), next_look_at(whole)) == ("V", START + 2 * HOUR)


OPEN = installation(incarnation=2, restore_state="open", restore_at=START + HOUR)
FINISHED = installation(incarnation=2, restore_state="finished", restore_at=START + HOUR, lost_until=START + HOUR)


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
    assert letter(situation(operation=newer, restore=FINISHED, run_from=START + HOUR + 1)) == "P"
    rejected = operation(status=OperationStatus.FAILED, closed_at=START)
    assert facts_of(situation(operation=rejected, restore=FINISHED), "sent") == ("no",)


def test_after_a_restore_a_run_of_before_plans_what_may_have_been_sent() -> None:
    """Whenever it plans it, in whatever words: the lost history had the same run, and derived the same identity."""
    planned = operation(incarnation=2, prepared_at=START + 5 * HOUR, sent=1, first_sent_at=START - HOUR)
    later: dict[str, Any] = {
        "operation": planned,
        "restore": FINISHED,
        "now": START + 5 * HOUR,
        "run_from": START + HOUR,
    }
    no_way = contract(procedure="Ask the desk.")
    assert letter(situation(contract=no_way, **later)) == "Z", "nobody can tell: a person"
    assert letter(situation(contract=NO_KEY, **later)) == "U", "the receiver is asked before anything leaves"
    asked = situation(contract=NO_KEY, lookups=(lookup("mismatch", at=START + 5 * HOUR),), **later)
    assert letter(asked) == "G", "other words under our number: a person, and no second one"
    asked = situation(contract=NO_KEY, lookups=(lookup("match", at=START + 5 * HOUR),), **later)
    assert letter(asked) == "E", "adopted by its number"
    asked = situation(contract=NO_KEY, lookups=(lookup("absent", at=START + 5 * HOUR),), **later)
    assert letter(asked) == "S", "long after the restore absence counts at once"
    assert letter(situation(contract=keyed(other_body="rejects"), **later)) == "R", "under the key it is harmless"
    for binding in (None, "replays", "overwrites"):
        assert facts_of(situation(contract=keyed(other_body=binding), **later), "key") == ("unusable",)
    forgotten = keyed(other_body="rejects", retention=timedelta(hours=6))
    assert facts_of(situation(contract=forgotten, **later), "key") == ("closed",), (
        "the window counts from the lost head"
    )


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
