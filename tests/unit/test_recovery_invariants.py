"""Section 2 of the design as properties of the recovery table, over every combination of facts that can be.

Each is written in plain facts, not in the vocabulary of the table: a word that says the wrong thing must be caught here.
"""

from functools import cache
from itertools import product

import pytest

from counterfoil.rules.recovery import (
    CASES,
    FACTS,
    Ask,
    Attempt,
    Authority,
    Budget,
    Evidence,
    Key,
    Kind,
    Lookup,
    Resolution,
    Sender,
    Sent,
    Status,
    Stop,
)
from counterfoil.rules.recovery_conditions import Condition, Part, any_of, parts, where
from counterfoil.rules.recovery_words import INCONSISTENT


def ruled(*kinds: Kind) -> Condition:
    return any_of(*(case.predicate for case in CASES if case.kind in kinds and case.letter != "AA"))


def asked(reason: Ask) -> Condition:
    return any_of(*(case.predicate for case in CASES if case.ruling == f"ask a person: {reason}"))


OPEN = where(Status.PREPARED, Status.IN_FLIGHT, Status.UNKNOWN)
CLOSED = where(Status.SUCCEEDED, Status.FAILED)
NEVER_SENT, MAYBE_SENT = where(Sent.NO), where(Sent.MAYBE)
LIVE = where(Attempt.LIVE)
ALLOWED = where(Authority.NOT_NEEDED, Authority.VALID)
LOST = where(Authority.MISSING, Authority.EXPIRED, Authority.MISMATCHED, Authority.REVOKED)
NO_MORE = where(Authority.REJECTED, Authority.WITHDRAWN)
REFUSED, PARTLY, ACCEPTED = where(Evidence.REFUSED), where(Evidence.PARTLY), where(Evidence.ACCEPTED)
SEEN = ACCEPTED | where(Lookup.MATCH, Lookup.MISMATCH, Lookup.SEVERAL)
UNTOUCHED = where(Resolution.NONE)
AGAIN = where(Resolution.AGAIN_SAME, Resolution.AGAIN_NEW)
JUDGED = where(Resolution.SUCCEEDED, Resolution.FAILED)
INCIDENT = where(Stop.INCIDENT)
OPEN_KEY = where(Key.OPEN)
PROVEN_ABSENT = where(Lookup.ABSENT_AUTH) & where(Sender.GONE)

SENDS = ruled(Kind.SEND, Kind.REPEAT)
RECORDS = ruled(Kind.RECORD_SUCCESS, Kind.RECORD_FAILURE)
ASKS_RECEIVER = ruled(Kind.LOOK_UP)
WAITS = ruled(Kind.WAIT)
FAILS = ruled(Kind.RECORD_FAILURE, Kind.CLOSE_NEVER_SENT)
SUCCEEDS = ruled(Kind.RECORD_SUCCESS)

# In doubt: maybe sent, nobody trying, and neither the receiver nor a person has said how it ended.
IN_DOUBT = OPEN & MAYBE_SENT & ~LIVE & ~SEEN & ~REFUSED & ~JUDGED
ASKABLE = IN_DOUBT & where(Lookup.DUE) & ~where(Resolution.AGAIN_SAME)

# Rule of section 2, sentence, where it speaks, what must then hold.
INVARIANTS = [
    ("2.2", "what was not proven unsent is never ruled on as never sent", ruled(Kind.OPEN_REVIEW, Kind.CLOSE_NEVER_SENT), NEVER_SENT),
    ("2.2", "maybe sent is never closed as never sent", MAYBE_SENT, ~ruled(Kind.CLOSE_NEVER_SENT)),
    ("2.3", "nothing is sent while an attempt is live", LIVE, ~SENDS),
    ("2.3", "nothing else starts while an attempt is live", LIVE & OPEN,
     WAITS | SUCCEEDS | ruled(Kind.OPEN_INCIDENT) | asked(Ask.DUPLICATE_FOUND)),
    ("2.3", "only an open operation is sent", SENDS, OPEN),
    ("2.4", "a second send is harmless, authorised by absence, or ordered", SENDS & MAYBE_SENT, OPEN_KEY | PROVEN_ABSENT | AGAIN),
    ("2.4", "an automatic second send without an open key needs absence and a sender proven gone",
     SENDS & MAYBE_SENT & UNTOUCHED & ~OPEN_KEY, PROVEN_ABSENT),
    ("2.4", "a sender that is not proven gone allows only what is harmless, or what a person orders",
     SENDS & where(Sender.NOT_PROVEN) & MAYBE_SENT, OPEN_KEY | AGAIN),
    ("2.4", "absence that proves nothing never sends", SENDS & MAYBE_SENT & where(Lookup.ABSENT), OPEN_KEY | AGAIN),
    ("2.4", "time alone never sends", SENDS & MAYBE_SENT & UNTOUCHED & where(Lookup.IMPOSSIBLE), OPEN_KEY),
    ("2.4", "a busy or unusable key is never sent under automatically", where(Key.BUSY, Key.UNUSABLE) & MAYBE_SENT & UNTOUCHED, ~SENDS),
    ("2.4", "a repeat is ruled only under an open key", ruled(Kind.REPEAT), OPEN_KEY & MAYBE_SENT & UNTOUCHED),
    ("2.4", "what is found at the receiver is never sent again", SEEN, ~SENDS),
    ("2.5", "a refusal of some tries never fails the operation", PARTLY & ~where(Resolution.FAILED), ~ruled(Kind.RECORD_FAILURE)),
    ("2.5", "beside a refused try nothing is sent again automatically", PARTLY & UNTOUCHED, ~SENDS),
    ("2.5", "a refusal of all tries fails it only when none is live", REFUSED & LIVE, ~ruled(Kind.RECORD_FAILURE)),
    ("2.5", "what every try was refused is not sent again", REFUSED, ~SENDS),
    ("2.5", "refused by all and nothing found is recorded", OPEN & REFUSED & ~SEEN & ~LIVE, ruled(Kind.RECORD_FAILURE)),
    ("2.6", "failure needs a refusal, a person, or that it was never sent", FAILS,
     REFUSED | where(Resolution.FAILED) | (NEVER_SENT & NO_MORE)),
    ("2.6", "absence never makes it failed", where(Lookup.ABSENT, Lookup.ABSENT_AUTH) & MAYBE_SENT & ~REFUSED & UNTOUCHED, ~FAILS),
    ("2.6", "silence is doubt", OPEN & MAYBE_SENT & where(Evidence.NONE) & ~SEEN & UNTOUCHED, ~RECORDS & ~ruled(Kind.CLOSE_NEVER_SENT)),
    ("2.6", "what was found is not failed without a person", SEEN & UNTOUCHED, ~FAILS),
    ("2.6", "success needs an acceptance, a match, or a person", SUCCEEDS, ACCEPTED | where(Lookup.MATCH) | where(Resolution.SUCCEEDED)),
    ("2.6", "a mismatch or several records are no success without a person",
     where(Lookup.MISMATCH, Lookup.SEVERAL) & ~where(Resolution.SUCCEEDED), ~SUCCEEDS),
    ("2.6", "a match beside a refusal is no success without a person",
     where(Lookup.MATCH) & REFUSED & ~where(Resolution.SUCCEEDED), ~SUCCEEDS),
    ("2.6", "a match that nothing contradicts is a success, and no question for a person",
     OPEN & MAYBE_SENT & where(Lookup.MATCH) & ~REFUSED, SUCCEEDS & ~ruled(Kind.ASK_PERSON)),
    ("2.8", "nothing is sent without authority", SENDS, ALLOWED),
    ("2.8", "an operation never sent whose approval lapsed is reviewed",
     OPEN & NEVER_SENT & ~SEEN & LOST & where(Stop.NONE) & ~where(Budget.SPENT), ruled(Kind.OPEN_REVIEW)),
    ("2.10", "lost authority never stops asking the receiver", ASKABLE & ~ALLOWED, ASKS_RECEIVER),
    ("2.10", "after a send only a renewal may be opened, never a review", MAYBE_SENT, ~ruled(Kind.OPEN_REVIEW)),
    ("2.10", "a renewal is opened only where another send is a way on, and nothing else could tell", ruled(Kind.OPEN_RENEWAL),
     IN_DOUBT & LOST & (OPEN_KEY | PROVEN_ABSENT | AGAIN) & ~where(Lookup.DUE)),
    ("2.10", "a rejected renewal never records", IN_DOUBT & NO_MORE & UNTOUCHED, ASKS_RECEIVER | WAITS | ruled(Kind.HOLD, Kind.ASK_PERSON)),
    ("2.10", "a rejected renewal with nothing left to ask or wait for is unknown",
     IN_DOUBT & NO_MORE & UNTOUCHED & where(Stop.NONE) & where(Budget.LEFT) & where(Lookup.IMPOSSIBLE) & ~where(Key.BUSY),
     asked(Ask.OUTCOME_UNKNOWN)),
    ("2.11", "the same key again only while it is open", SENDS & where(Resolution.AGAIN_SAME), OPEN_KEY),
    ("2.11", "an overtaken order goes back to a person", IN_DOUBT & where(Resolution.AGAIN_SAME) & where(Key.CLOSED, Key.UNUSABLE),
     asked(Ask.ORDER_OVERTAKEN)),
    ("2.11", "an order is overtaken only by its key", asked(Ask.ORDER_OVERTAKEN), where(Key.CLOSED, Key.UNUSABLE)),
    ("2.11", "what a person has judged is never sent, asked for or waited for", JUDGED & OPEN,
     RECORDS | ruled(Kind.OPEN_INCIDENT)),
    ("2.11", "a person's word is not recorded over the receiver's own refusal of all or acceptance",
     where(Resolution.SUCCEEDED) & REFUSED & ~SEEN, ~SUCCEEDS),
    ("2.11", "a person's failure is not recorded over a plain acceptance",
     where(Resolution.FAILED) & ACCEPTED & ~where(Lookup.MISMATCH, Lookup.SEVERAL), SUCCEEDS),
    ("2.13", "nothing is sent while the run has another doubt", where(Stop.OTHER_DOUBT), ~SENDS),
    ("2.17", "a spent budget never sends", where(Budget.SPENT), ~SENDS),
    ("2.17", "nothing is sent before its turn", where(Budget.NOT_YET), ~SENDS),
    ("2.17", "a spent budget never stops asking the receiver", ASKABLE & where(Budget.SPENT), ASKS_RECEIVER),
    ("2.17", "a person is asked for budget only when it is spent", asked(Ask.BUDGET), where(Budget.SPENT) & OPEN),
    ("2.19", "evidence against a closed operation changes nothing", CLOSED, ruled(Kind.NOTHING, Kind.OPEN_INCIDENT)),
    ("2.19", "a find for a failed operation opens an incident", where(Status.FAILED) & SEEN & ~INCIDENT, ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "a refusal of all, or proven absence, of a succeeded one opens an incident",
     where(Status.SUCCEEDED) & (REFUSED | where(Lookup.ABSENT_AUTH)) & ~INCIDENT, ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "something else under the number of a closed operation opens an incident", CLOSED & where(Lookup.MISMATCH) & ~INCIDENT,
     ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "under an incident a person says which record counts", OPEN & NEVER_SENT & SEEN & INCIDENT, asked(Ask.DUPLICATE_FOUND)),
    ("2.19", "two records open an incident, whatever our record says", where(Lookup.SEVERAL) & ~INCIDENT, ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "a find for what was never sent opens an incident", NEVER_SENT & SEEN & ~INCIDENT, ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "an open incident freezes sending", INCIDENT, ~SENDS),
    ("2.19", "an incident is opened once", INCIDENT, ~ruled(Kind.OPEN_INCIDENT)),
    ("2.19", "nothing found or refused and nothing absent opens no incident",
     ~SEEN & ~REFUSED & ~where(Lookup.ABSENT_AUTH), ~ruled(Kind.OPEN_INCIDENT)),
    ("2.20", "nothing is sent before a restore is finished", where(Stop.RESTORED), ~SENDS),
    ("2.20", "during a restore nothing open is closed as never sent", where(Stop.RESTORED) & OPEN,
     ~ruled(Kind.CLOSE_NEVER_SENT, Kind.OPEN_REVIEW)),
    ("stops", "no stop ever sends", ~where(Stop.NONE), ~SENDS),
    ("stops", "no stop ever stops asking the receiver", ASKABLE & ~where(Stop.NONE), ASKS_RECEIVER),
    ("stops", "only a stop holds", ruled(Kind.HOLD), ~where(Stop.NONE) & OPEN),
    ("promise", "an open operation is never left with nothing to do", OPEN, ~ruled(Kind.NOTHING)),
    ("promise", "a doubt that nothing can end reaches a person",
     IN_DOUBT & UNTOUCHED & where(Lookup.IMPOSSIBLE) & where(Key.NONE) & ALLOWED & where(Budget.LEFT), asked(Ask.OUTCOME_UNKNOWN)),
    ("promise", "the receiver is asked only in doubt", ASKS_RECEIVER, IN_DOUBT & where(Lookup.DUE)),
    ("promise", "a wait has something to wait for", WAITS,
     LIVE | where(Authority.PENDING) | where(Budget.NOT_YET) | where(Key.BUSY) | where(Lookup.TOO_EARLY, Lookup.UNREACHABLE)),
    ("promise", "never sent and everything allows it: sent", where(Status.PREPARED) & NEVER_SENT & ~SEEN & ALLOWED
     & where(Stop.NONE) & where(Budget.LEFT), ruled(Kind.SEND)),
    ("promise", "a harmless repeat with everything allowed is made", IN_DOUBT & UNTOUCHED & ~PARTLY & OPEN_KEY & ALLOWED
     & where(Stop.NONE) & where(Budget.LEFT), ruled(Kind.REPEAT)),
    ("promise", "absence that authorises a send is acted on, with or without a key", IN_DOUBT & UNTOUCHED & ~PARTLY & PROVEN_ABSENT
     & where(Key.NONE, Key.CLOSED) & ALLOWED & where(Stop.NONE) & where(Budget.LEFT), ruled(Kind.SEND)),
]  # fmt: skip


@cache
def findings() -> dict[str, tuple[int, dict[str, str] | None]]:
    """For each sentence, how often it speaks, and the first combination that breaks it."""
    spoken = dict.fromkeys((sentence for _, sentence, _, _ in INVARIANTS), 0)
    broken: dict[str, dict[str, str]] = {}
    for part in parts():
        possible = (~INCONSISTENT).within(part)
        for _, sentence, given, then in INVARIANTS:
            speaks = given.within(part) & possible
            spoken[sentence] += speaks.bit_count()
            if wrong := speaks & ~then.within(part):
                broken.setdefault(sentence, described(part, wrong))
    return {sentence: (count, broken.get(sentence)) for sentence, count in spoken.items()}


def described(part: Part, bits: int) -> dict[str, str]:
    place = (bits & -bits).bit_length() - 1
    combination = dict(part.fixed)
    for name, kind in reversed(part.free):
        place, value = divmod(place, len(kind))
        combination[name] = list(kind)[value]
    return {name: str(combination[name]) for name in FACTS}


@pytest.mark.parametrize("sentence", [sentence for _, sentence, _, _ in INVARIANTS])
def test_section_2_holds_over_every_possible_combination(sentence):
    spoken, broken = findings()[sentence]
    assert spoken > 0, "an invariant that never speaks proves nothing"
    assert broken is None


def test_the_invariants_are_told_apart_by_their_sentences():
    assert len({sentence for _, sentence, _, _ in INVARIANTS}) == len(INVARIANTS)


# What is recorded, and what opens an incident, may not depend on facts that only forbid sending.
ONLY_FORBID_SENDING = [
    list(Authority),
    list(Budget),
    [stop for stop in Stop if stop not in {Stop.INCIDENT, Stop.RESTORED}],
]


@pytest.mark.parametrize("values", ONLY_FORBID_SENDING, ids=lambda values: type(values[0]).__name__)
@pytest.mark.parametrize("kind", [Kind.RECORD_SUCCESS, Kind.RECORD_FAILURE, Kind.OPEN_INCIDENT, Kind.NOTHING])
def test_recording_never_depends_on_what_only_forbids_sending(kind, values):
    name = next(name for name, each in FACTS.items() if each is type(values[0]))
    first, *others = (ruled(kind).within(Part({name: value})) for value in values)
    assert first != 0
    assert all(other == first for other in others)


def test_a_hold_names_its_stop_and_a_wait_names_what_is_waited_for():
    for case in CASES:
        wanted = {Kind.HOLD, Kind.WAIT, Kind.ASK_PERSON}
        assert (case.reason.__name__ == "_no_reason") == (case.kind not in wanted)


def test_described_names_the_combination_of_a_bit():
    part = Part({"status": Status.UNKNOWN})
    for place, values in enumerate(product(*(kind for _, kind in part.free))):
        if place in {0, 1, 4711, part.size - 1}:
            assert tuple(described(part, 1 << place).values()) == ("unknown", *values)
