"""What answers and absence prove: both sides of each rule of evidence."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import Lookup
from counterfoil.model.operation import OperationStatus
from counterfoil.rules.absence import ask_again_at, polled_at
from counterfoil.rules.evidence import Sighting, judge_sightings
from counterfoil.rules.gather import next_look_at
from tests.unit.operation_records import (
    ASKED,
    BEGAN,
    COUNTS,
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
    find,
    in_doubt,
    keyed,
    letter,
    lookup,
    operation,
    receipt,
    situation,
)

# --- evidence -----------------------------------------------------------------------------------------------------------


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


# --- absence ------------------------------------------------------------------------------------------------------------


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


def test_what_was_never_asked_may_be_asked_now() -> None:
    assert ask_again_at(in_doubt(contract=NO_KEY, lookups=(), now=START + HOUR)) == START + HOUR
    assert ask_again_at(in_doubt(now=START + 2 * HOUR)) == START + 2 * HOUR


def test_a_receiver_out_of_reach_is_asked_more_and_more_seldom() -> None:
    base = START + HOUR
    pauses = [
        10 * SECOND,
        20 * SECOND,
        40 * SECOND,
        80 * SECOND,
        160 * SECOND,
        320 * SECOND,
        640 * SECOND,
        15 * MINUTE,
        15 * MINUTE,
    ]
    for in_vain, pause in enumerate(pauses, start=1):
        asked = [
            lookup("absent", at=base, n=1),
            *(lookup("unreachable", at=base + n, n=n + 1) for n in range(1, in_vain + 1)),
        ]
        whole = in_doubt(contract=NO_KEY, lookups=asked, now=base + in_vain)
        assert next_look_at(whole) == base + in_vain + pause


def test_its_owner_hears_when_a_receiver_was_out_of_reach_for_the_owners_time() -> None:
    first = START + HOUR
    asked = (lookup("unreachable", at=first), lookup("unreachable", at=first + 55 * MINUTE, n=2))
    whole = in_doubt(contract=NO_KEY, lookups=asked, now=first + 55 * MINUTE, patience_us=HOUR)
    assert letter(whole) == "V"
    late = replace(whole, lookups=(asked[0], replace(asked[1], asked_at=first + 59 * MINUTE + 59 * SECOND)))
    assert next_look_at(replace(late, now=first + 59 * MINUTE + 59 * SECOND)) == first + HOUR
    assert letter(replace(whole, now=first + HOUR - 1)) == "U"
    assert letter(replace(whole, now=first + HOUR)) == "Z"
    reached = (lookup("absent", at=first - MINUTE), lookup("absent", at=first + MINUTE, n=2, complete=0), *asked[1:])
    again = replace(whole, lookups=(*reached[:2], replace(asked[1], n=3)), now=first + HOUR)
    assert letter(again) == "U", "it was reached meanwhile: the time runs from the next question in vain"


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


# --- closed operations --------------------------------------------------------------------------------------------------

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


# --- a receiver that does it later ---------------------------------------------------------------------------------------

LATER = contract(
    stages="asynchronous", completes_within=timedelta(hours=6), lookup=replace(ASKED, pause=timedelta(minutes=1))
)
TAKEN = (answered(1, 202, "in_progress"),)


def test_a_receiver_that_is_at_work_is_asked_again_and_more_and_more_seldom() -> None:
    base = START + MINUTE
    for asked, again in ((2 * SECOND, MINUTE), (10 * MINUTE, 5 * MINUTE), (4 * HOUR, 2 * HOUR)):
        seen = in_doubt(contract=LATER, attempts=TAKEN, lookups=(lookup("absent", at=base + asked),))
        waits = replace(seen, now=base + asked + again - 1)
        assert (letter(waits), next_look_at(waits)) == ("V", base + asked + again)
        assert letter(replace(seen, now=base + asked + again)) == "U"


def test_absence_counts_only_when_the_receiver_must_be_done() -> None:
    over = START + MINUTE + 30 * SECOND + HOUR * 6 + 5 * MINUTE + 30 * SECOND
    early = in_doubt(contract=LATER, attempts=TAKEN, lookups=(lookup("absent", at=over - 1),), now=over)
    assert letter(early) == "U"
    assert letter(replace(early, lookups=(lookup("absent", at=over),), now=over + 1)) == "S"


def test_without_a_deadline_of_its_own_absence_of_what_was_taken_proves_nothing() -> None:
    open_end = replace(LATER, completes_within=None)
    late = in_doubt(
        contract=open_end, attempts=TAKEN, lookups=(lookup("absent", at=START + 40 * HOUR),), now=START + 41 * HOUR
    )
    assert letter(late) == "Z"
    assert letter(replace(late, contract=replace(open_end, stages=None))) == "S"


def test_who_was_never_asked_is_asked_at_once() -> None:
    assert polled_at(in_doubt(contract=LATER, attempts=TAKEN)) == START + HOUR
    assert polled_at(in_doubt(attempts=TAKEN)) == START + HOUR
