"""Approval keys: which count, what they sign, and what no signature covers."""

from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.rules.authority import Weighed, approvals_of, approvers, heads, weighed
from counterfoil.rules.signing import (
    Keys,
    addition,
    anchored_id,
    expires_at_of,
    holds,
    key_id_of,
    keys_of,
    says,
    statement,
    verified,
)
from tests.unit.operation_records import HOUR, START, review

OLD, NEW, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2, 3))
HERE = "inst_plain"


def public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()


def key_of(
    key: Ed25519PrivateKey, by: Ed25519PrivateKey | None = None, *, here: str = HERE, **parts: Any
) -> ApprovalKeyRecord:
    signed = {} if by is None else {
        "signed_by": key_id_of(public(by)), "signature": by.sign(addition(here, public(key), "ana").encode()).hex(),
    }  # fmt: skip
    return replace(ApprovalKeyRecord(key_id_of(public(key)), public(key), "ana", 10, None, **signed), **parts)


def live(*rows: ApprovalKeyRecord, here: str = HERE) -> list[str]:
    return sorted(keys_of(here, rows).live.values())


ROOT, SECOND, THIRD = key_of(OLD), key_of(NEW, OLD), key_of(OTHER, NEW)


def test_without_keys_nothing_must_be_signed() -> None:
    assert keys_of(HERE, ()) == Keys(False, {})


def test_a_chain_leads_back_to_the_first_key_in_any_order() -> None:
    assert live(ROOT) == [public(OLD)]
    assert live(THIRD, SECOND, ROOT) == sorted(public(key) for key in (OLD, NEW, OTHER))


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("no signature", replace(SECOND, signature=None)),
        ("a signature over another name", replace(SECOND, added_by="eve")),
        ("a signature by another key", replace(SECOND, signature=THIRD.signature)),
        ("no hexadecimal", replace(SECOND, signature="no")),
        ("vouched for by nobody", THIRD),
        ("an id that is not of its key", replace(SECOND, key_id="key_other")),
        ("signed for another installation", key_of(NEW, OLD, here="inst_other")),
        ("a second first key", key_of(NEW)),
    ],
)
def test_a_key_that_nobody_vouches_for_does_not_count(what: str, row: ApprovalKeyRecord) -> None:
    assert public(NEW) not in live(ROOT, row)
    assert keys_of(HERE, (ROOT, row)).required


def test_a_revoked_key_counts_no_more_and_what_it_vouched_for_before_does() -> None:
    revoked = replace(ROOT, revoked_at=20)
    assert live(revoked, SECOND) == [public(NEW)]
    assert live(revoked, replace(SECOND, added_at=21)) == []
    assert keys_of(HERE, (revoked,)) == Keys(True, {}), "with none left nothing unsigned counts either"


def test_an_installation_that_was_founded_with_a_key_knows_it_by_its_own_id() -> None:
    here = anchored_id(public(OLD))
    assert keys_of(here, ()) == Keys(True, {})
    assert live(key_of(OTHER), here=here) == []
    assert live(ROOT, key_of(OTHER), here=here) == [public(OLD)], "a second first key does not take its place"


# ---------------------------------------------------------------------- answers

REVIEW = review(state=ReviewState.OPEN, reviewer=None, decided_at=None, scope='{"operation":"pay"}')
KEYS = keys_of(HERE, (ROOT,))


def answer(person: str = "ana", *, at: int = START, about: ReviewRecord = REVIEW, key: Any = OLD) -> AnswerRecord:
    text = statement(HERE, about, person, "approve", comment="fine", ask_revision=False, at=at)
    return AnswerRecord(
        f"ans_{person}", about.review_id, "run_1", person, "approve", about.digest, "fine", 0, START, "now",
        key_id_of(public(key)), key.sign(text.encode()).hex(), text,
    )  # fmt: skip


def test_an_answer_holds_for_its_review_also_after_it_was_decided() -> None:
    assert holds(KEYS, HERE, REVIEW, answer())
    decided = replace(REVIEW, state=ReviewState.APPROVED, reviewer="ana", decided_at=START, expires_at=START + HOUR)
    assert holds(KEYS, HERE, decided, answer())
    assert expires_at_of(answer()) == START + (REVIEW.expires_at - REVIEW.opened_at)


@pytest.mark.parametrize(
    "parts",
    [
        {"review_id": "rev_2"}, {"operation_id": "op_2"}, {"proposal_version": 2}, {"digest": "sha256:other"},
        {"scope": "{}"}, {"kind": "renewal"}, {"role": "lead"}, {"needed": 2},
    ],
)  # fmt: skip
def test_it_holds_for_no_other_question(parts: dict[str, Any]) -> None:
    assert not holds(KEYS, HERE, replace(REVIEW, **parts), answer())


@pytest.mark.parametrize(
    "parts",
    [
        {"person": "oscar"}, {"decision": "reject"}, {"comment": "else"}, {"ask_revision": 1}, {"digest": "sha256:x"},
        {"key_id": None}, {"key_id": "key_other"}, {"signature": None}, {"signature": "00"}, {"statement": None},
        {"statement": "no json"}, {"statement": "[]"}, {"statement": "{}"}, {"statement": "null"},
    ],
)  # fmt: skip
def test_it_holds_for_no_other_row(parts: dict[str, Any]) -> None:
    assert not holds(KEYS, HERE, REVIEW, replace(answer(), **parts))


def test_it_holds_for_no_other_installation_or_key() -> None:
    assert not holds(KEYS, "inst_other", REVIEW, answer())
    assert not holds(KEYS, HERE, REVIEW, answer(key=NEW))
    assert says(HERE, REVIEW, answer(key=NEW)), "it says the same, and nobody who counts said it"
    assert not verified("00", "text", "00")


# ---------------------------------------------------------------------- how an approval stands


def person(name: str, *, stand_in_for: str | None = None) -> PersonRecord:
    return PersonRecord(name, '["manager"]', "scrypt", stand_in_for, 1, None)


PEOPLE = [person("ana"), person("oscar"), person("mia", stand_in_for="ana")]


def stands(*answers: AnswerRecord, keys: Keys = KEYS, needed: int = 1, may: Any = None, **parts: Any) -> Weighed:
    approved = replace(REVIEW, state=ReviewState.APPROVED, expires_at=START + 8 * HOUR, **parts)
    return weighed(
        approved, answers, PEOPLE, needed=needed, keys=keys, installation_id=HERE,
        may=may or (lambda person: person.name != "nobody"),
    )  # fmt: skip


NO_KEYS = Keys(False, {})


def test_enough_who_may_still_decide() -> None:
    assert stands(answer()) == Weighed(True, True)
    assert stands(answer(), may=lambda person: False) == Weighed(True, False)
    two = (answer(), answer("oscar"))
    assert stands(*two, needed=2) == Weighed(True, True)
    assert stands(*two, needed=2, may=lambda person: person.name == "ana") == Weighed(True, False)
    assert stands(answer(), answer("mia"), needed=2) == Weighed(False, False), "a stand-in is no second person"


def test_signed_as_it_must_be() -> None:
    assert stands() == Weighed(False, False)
    assert stands(answer(key=NEW)) == Weighed(False, False)
    assert stands(answer(at=START - 1)) == Weighed(False, True), "what was signed ends before the row says"
    assert stands(answer(at=START - 1), answer("oscar")).signed, "the newest answer bounds it"


def test_without_keys_the_row_says_who_approved() -> None:
    unsigned = replace(answer(), key_id=None, signature=None, statement=None)
    assert stands(unsigned, keys=NO_KEYS) == Weighed(True, True)
    assert stands(keys=NO_KEYS, reviewer="ana") == Weighed(True, True)
    assert stands(keys=NO_KEYS, reviewer=None) == Weighed(True, False)
    assert stands(keys=NO_KEYS, reviewer="ana", needed=2) == Weighed(True, False)


def test_which_answers_count() -> None:
    good = answer()
    others = [
        replace(good, review_id="rev_2"), replace(good, matched="earlier"), replace(good, decision="reject"),
        replace(good, digest="sha256:x"),
    ]  # fmt: skip
    assert approvals_of(REVIEW, [good, *others]) == [good]
    assert heads(["ana", "mia", "oscar", "gone"], PEOPLE) == {"ana", "oscar", "gone"}


def test_who_approved_what_was_sent() -> None:
    used = replace(REVIEW, used_by="att_1", reviewer="oscar")
    assert approvers([used], [answer(about=used)]) == {"ana", "oscar"}
    assert approvers([replace(used, reviewer=None)], []) == frozenset()
    assert approvers([replace(used, used_by=None)], [answer(about=used)]) == frozenset()
