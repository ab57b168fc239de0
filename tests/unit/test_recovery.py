"""The recovery table: exactly one case for every combination, every case reached, and each ruling with its reason."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from counterfoil.rules.recovery import (
    CASES,
    FACTS,
    IMPOSSIBLE,
    Ask,
    Attempt,
    Authority,
    Budget,
    Evidence,
    Facts,
    Key,
    Kind,
    Lookup,
    Resolution,
    Ruling,
    Sender,
    Sent,
    Status,
    Stop,
    Until,
    combinations,
    count_matches,
    fact_values,
    impossibilities,
    rule,
)
from counterfoil.rules.recovery_conditions import any_of, parts

READY = Facts(
    status=Status.PREPARED,
    stop=Stop.NONE,
    authority=Authority.VALID,
    sent=Sent.NO,
    attempt=Attempt.NONE,
    sender=Sender.NOT_PROVEN,
    evidence=Evidence.NONE,
    key=Key.NONE,
    lookup=Lookup.IMPOSSIBLE,
    resolution=Resolution.NONE,
    budget=Budget.LEFT,
)
SENT = replace(READY, status=Status.IN_FLIGHT, sent=Sent.MAYBE, attempt=Attempt.OVER)
LIVE = replace(SENT, attempt=Attempt.LIVE)
DONE = replace(SENT, status=Status.SUCCEEDED, evidence=Evidence.ACCEPTED)
FAILED = replace(SENT, status=Status.FAILED, evidence=Evidence.REFUSED)

INCIDENT = {"stop": Stop.INCIDENT}
OPEN_KEY = {"key": Key.OPEN}
AGAIN_SAME = {"resolution": Resolution.AGAIN_SAME}
AGAIN_NEW = {"resolution": Resolution.AGAIN_NEW}
PROVEN_ABSENT = {"lookup": Lookup.ABSENT_AUTH, "sender": Sender.GONE}

# One story or more for each case: the facts, what else is true, the letter, the ruling and its reason.
STORIES: list[tuple[Facts, dict[str, Any], str, Kind, str | None]] = [
    (DONE, {"lookup": Lookup.SEVERAL}, "A", Kind.OPEN_INCIDENT, None),
    (FAILED, {"lookup": Lookup.MATCH}, "A", Kind.OPEN_INCIDENT, None),
    (FAILED, {"evidence": Evidence.ACCEPTED}, "A", Kind.OPEN_INCIDENT, None),
    (DONE, {}, "B", Kind.NOTHING, None),
    (DONE, {"lookup": Lookup.SEVERAL, **INCIDENT}, "B", Kind.NOTHING, None),
    (SENT, {"lookup": Lookup.SEVERAL}, "C", Kind.OPEN_INCIDENT, None),
    (READY, {"lookup": Lookup.MATCH}, "C", Kind.OPEN_INCIDENT, None),
    (READY, {"evidence": Evidence.ACCEPTED}, "C", Kind.OPEN_INCIDENT, None),
    (SENT, {"lookup": Lookup.SEVERAL, **INCIDENT}, "D", Kind.ASK_PERSON, Ask.DUPLICATE_FOUND),
    (SENT, {"evidence": Evidence.ACCEPTED}, "E", Kind.RECORD_SUCCESS, None),
    (SENT, {"evidence": Evidence.PARTLY, "lookup": Lookup.MATCH}, "E", Kind.RECORD_SUCCESS, None),
    (LIVE, {}, "F", Kind.WAIT, Until.ATTEMPT_OVER),
    (LIVE, {"lookup": Lookup.MISMATCH}, "F", Kind.WAIT, Until.ATTEMPT_OVER),
    (LIVE, {"evidence": Evidence.REFUSED}, "F", Kind.WAIT, Until.ATTEMPT_OVER),
    (SENT, {"evidence": Evidence.ACCEPTED, "lookup": Lookup.MISMATCH}, "G", Kind.ASK_PERSON, Ask.RECEIVER_MISMATCH),
    (SENT, {"evidence": Evidence.REFUSED, "lookup": Lookup.MATCH}, "G", Kind.ASK_PERSON, Ask.RECEIVER_MISMATCH),
    (SENT, {"lookup": Lookup.MISMATCH, **AGAIN_NEW}, "G", Kind.ASK_PERSON, Ask.RECEIVER_MISMATCH),
    (SENT, {"evidence": Evidence.REFUSED}, "H", Kind.RECORD_FAILURE, None),
    (SENT, {"resolution": Resolution.SUCCEEDED}, "I", Kind.RECORD_SUCCESS, None),
    (SENT, {"lookup": Lookup.SEVERAL, "resolution": Resolution.SUCCEEDED, **INCIDENT}, "I", Kind.RECORD_SUCCESS, None),
    (SENT, {"resolution": Resolution.FAILED}, "J", Kind.RECORD_FAILURE, None),
    (SENT, {"lookup": Lookup.MISMATCH, "resolution": Resolution.FAILED}, "J", Kind.RECORD_FAILURE, None),
    (READY, {"authority": Authority.REJECTED, "stop": Stop.SUSPENDED}, "K", Kind.CLOSE_NEVER_SENT, None),
    (READY, {"authority": Authority.WITHDRAWN, "budget": Budget.SPENT}, "K", Kind.CLOSE_NEVER_SENT, None),
    (READY, {"stop": Stop.HELD, "budget": Budget.SPENT}, "L", Kind.HOLD, Stop.HELD),
    (READY, {"budget": Budget.SPENT, "authority": Authority.EXPIRED}, "M", Kind.ASK_PERSON, Ask.BUDGET),
    (READY, {"authority": Authority.MISMATCHED, "budget": Budget.NOT_YET}, "N", Kind.OPEN_REVIEW, None),
    (READY, {"authority": Authority.PENDING, "budget": Budget.NOT_YET}, "O", Kind.WAIT, Until.REVIEW),
    (READY, {"budget": Budget.NOT_YET}, "O", Kind.WAIT, Until.NEXT_TRY),
    (READY, {}, "P", Kind.SEND, None),
    (SENT, {"sent": Sent.NO}, "P", Kind.SEND, None),
    (SENT, AGAIN_NEW, "Q", Kind.SEND, None),
    (SENT, AGAIN_SAME | OPEN_KEY, "Q", Kind.SEND, None),
    (SENT, OPEN_KEY, "R", Kind.REPEAT, None),
    (SENT, OPEN_KEY | {"lookup": Lookup.DUE}, "R", Kind.REPEAT, None),
    (SENT, PROVEN_ABSENT, "S", Kind.SEND, None),
    (SENT, AGAIN_SAME | {"key": Key.CLOSED, "lookup": Lookup.DUE}, "T", Kind.ASK_PERSON, Ask.ORDER_OVERTAKEN),
    (SENT, {"lookup": Lookup.DUE}, "U", Kind.LOOK_UP, None),
    (SENT, OPEN_KEY | {"lookup": Lookup.DUE, "stop": Stop.SUSPENDED}, "U", Kind.LOOK_UP, None),
    (SENT, {"key": Key.BUSY, "lookup": Lookup.TOO_EARLY}, "V", Kind.WAIT, Until.RECEIVER_DONE),
    (SENT, {"lookup": Lookup.TOO_EARLY}, "V", Kind.WAIT, Until.VISIBLE),
    (SENT, {"lookup": Lookup.UNREACHABLE}, "V", Kind.WAIT, Until.REACHABLE),
    (SENT, OPEN_KEY | {"authority": Authority.PENDING}, "V", Kind.WAIT, Until.RENEWAL),
    (SENT, OPEN_KEY | {"budget": Budget.NOT_YET}, "V", Kind.WAIT, Until.NEXT_TRY),
    (SENT, OPEN_KEY | {"stop": Stop.CLOCK_JUMP}, "W", Kind.HOLD, Stop.CLOCK_JUMP),
    (SENT, OPEN_KEY | {"budget": Budget.SPENT}, "X", Kind.ASK_PERSON, Ask.BUDGET),
    (SENT, OPEN_KEY | {"authority": Authority.REVOKED}, "Y", Kind.OPEN_RENEWAL, None),
    (SENT, {}, "Z", Kind.ASK_PERSON, Ask.OUTCOME_UNKNOWN),
    (SENT, PROVEN_ABSENT | {"sender": Sender.NOT_PROVEN}, "Z", Kind.ASK_PERSON, Ask.OUTCOME_UNKNOWN),
    (SENT, OPEN_KEY | {"evidence": Evidence.PARTLY}, "Z", Kind.ASK_PERSON, Ask.OUTCOME_UNKNOWN),
    (SENT, OPEN_KEY | {"authority": Authority.REJECTED}, "Z", Kind.ASK_PERSON, Ask.OUTCOME_UNKNOWN),
    (READY, {"status": Status.UNKNOWN}, "AA", Kind.ASK_PERSON, Ask.INCONSISTENT),
]


@pytest.mark.parametrize(("facts", "also", "letter", "kind", "reason"), STORIES)
def test_each_story_has_its_ruling(facts, also, letter, kind, reason):
    case, ruling = rule(replace(facts, **also))
    assert (case.letter, ruling) == (letter, Ruling(kind, reason))


def test_every_case_has_a_story():
    assert [case.letter for case in CASES] == list(dict.fromkeys(letter for _, _, letter, _, _ in STORIES))


def test_every_combination_has_exactly_one_case():
    for part in parts():
        matched = [case.predicate.within(part) for case in CASES]
        assert sum(bits.bit_count() for bits in matched) == part.size, part.fixed
        assert any_of(*(case.predicate for case in CASES)).within(part) == part.everything, part.fixed


def test_the_counts_sum_to_the_combinations_and_every_case_is_reached():
    matched = count_matches()
    assert list(matched) == [case.letter for case in CASES]
    assert sum(matched.values()) == combinations() == 11_664_000
    assert min(matched.values()) >= 1
    # A changed number is a changed rule or a changed list of what cannot be: say which in the commit.
    assert combinations() - matched["AA"] == 1_661_148


def test_no_two_impossibilities_are_the_same_and_none_is_implied_by_the_others():
    alone = dict.fromkeys((impossibility.name for impossibility in IMPOSSIBLE), 0)
    for part in parts():
        for impossibility in IMPOSSIBLE:
            others = any_of(*(other.condition for other in IMPOSSIBLE if other is not impossibility))
            alone[impossibility.name] += (impossibility.condition & ~others).within(part).bit_count()
    assert len(alone) == len(IMPOSSIBLE) == 13
    assert [name for name, count in alone.items() if count == 0] == []


IMPOSSIBLE_STORIES: list[tuple[str, Facts, dict[str, Any]]] = [
    ("in_flight_without_attempt", SENT, {"attempt": Attempt.NONE}),
    ("live_outside_flight", LIVE, {"status": Status.PREPARED}),
    ("outcome_without_send", READY, {"status": Status.SUCCEEDED}),
    ("live_without_sender", LIVE, {"sender": Sender.GONE}),
    ("live_without_sender", LIVE, {"sent": Sent.NO}),
    ("trace_of_no_send", READY, {"sender": Sender.GONE}),
    ("trace_of_no_send", READY, {"evidence": Evidence.PARTLY}),
    ("refusal_of_lost_attempts", READY, {"sent": Sent.MAYBE, "evidence": Evidence.REFUSED}),
    ("certainty_during_restore", READY, {"stop": Stop.RESTORED}),
    ("certainty_during_restore", SENT, {"stop": Stop.RESTORED, "sender": Sender.GONE}),
    ("absence_during_attempt", LIVE, {"lookup": Lookup.ABSENT}),
    ("absence_left_a_try_open", SENT, PROVEN_ABSENT | {"evidence": Evidence.PARTLY}),
    ("resolution_without_doubt", DONE, AGAIN_NEW),
    ("resolution_without_doubt", LIVE, AGAIN_NEW),
    ("busy_without_answer", READY, {"key": Key.BUSY}),
    ("same_key_without_key", SENT, AGAIN_SAME),
    ("failed_while_live", LIVE, {"status": Status.FAILED}),
]


@pytest.mark.parametrize(("name", "facts", "also"), IMPOSSIBLE_STORIES)
def test_what_cannot_be_goes_to_a_person_with_its_reason(name, facts, also):
    assert impossibilities(facts) == ()
    wrong = replace(facts, **also)
    assert [impossibility.name for impossibility in impossibilities(wrong)] == [name]
    assert rule(wrong)[0].letter == "AA"


def test_every_impossibility_has_a_story():
    assert list(dict.fromkeys(name for name, _, _ in IMPOSSIBLE_STORIES)) == [each.name for each in IMPOSSIBLE]


def test_the_ruling_in_words_is_the_ruling():
    spoken = {
        Kind.RECORD_SUCCESS: "record success",
        Kind.RECORD_FAILURE: "record failure",
        Kind.CLOSE_NEVER_SENT: "close as never sent",
        Kind.WAIT: "wait until",
        Kind.LOOK_UP: "look up",
        Kind.OPEN_REVIEW: "open review",
        Kind.OPEN_RENEWAL: "open renewal",
        Kind.HOLD: "hold(stop)",
        Kind.OPEN_INCIDENT: "open incident",
    }
    for facts, also, _, kind, reason in STORIES:
        words = f"ask a person: {reason}" if kind == Kind.ASK_PERSON else spoken.get(kind, str(kind))
        assert rule(replace(facts, **also))[0].ruling == words


def test_letters_and_sentences_tell_the_cases_apart():
    letters = [case.letter for case in CASES]
    assert letters == [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA"]
    assert all(earlier != later for earlier, later in pairwise(sorted(case.sentence for case in CASES)))
    assert all(case.words and case.sentence.endswith(".") for case in CASES)
    assert {case.kind for case in CASES} == set(Kind)


def test_the_facts_and_their_values_are_listed_in_order():
    assert list(fact_values()) == list(FACTS) == list(Facts.__dataclass_fields__)
    assert fact_values()["sent"] == ["no", "maybe"]
    assert sum(map(len, fact_values().values())) == 55
