"""Signed links: what a key that counts signed, forged in every part, over, for somebody else, used."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.rules.links import (
    Link,
    answer_id_of,
    check_open,
    check_person,
    check_use,
    link_in,
    text_of,
    token_of,
)
from counterfoil.rules.signing import addition, key_id_of, statement
from tests.unit.operation_records import HOUR, START, review

KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
HERE = "inst_here"
OPEN = review(state=ReviewState.OPEN)
END = START + HOUR


def public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()


ROW = ApprovalKeyRecord(key_id_of(public(KEY)), public(KEY), "ana", 10, None)
LINK = Link("link_1", HERE, OPEN.review_id, OPEN.digest, "ana", END, ROW.key_id)


def token(link: Link = LINK, key: Ed25519PrivateKey = KEY) -> str:
    return token_of(link, key.sign(text_of(link).encode()).hex())


def refusal(act: Callable[[], Any]) -> Refused:
    with pytest.raises(Refused) as problem:
        act()
    return problem.value


def invalid(text: str, *rows: ApprovalKeyRecord, here: str = HERE) -> str:
    refused = refusal(lambda: link_in(text, here, rows or (ROW,)))
    assert refused.code == "link_invalid"
    return str(refused.details["problem"])


def test_what_was_signed_is_read() -> None:
    assert link_in(token(), HERE, (ROW,)) == LINK
    assert "/" not in token() and "+" not in token() and "=" not in token()


@pytest.mark.parametrize("name", [each.name for each in fields(Link)])
def test_a_link_that_is_forged_in_any_part_does_not_count(name: str) -> None:
    forged = replace(LINK, **{name: END + HOUR if name == "ends_at" else f"{getattr(LINK, name)}x"})
    signature = urlsafe_b64decode(token() + "==")[:64].hex()
    assert invalid(token_of(forged, signature))


def test_every_character_of_a_token_counts() -> None:
    whole = token()
    for place, letter in enumerate(whole):
        assert invalid(whole[:place] + ("A" if letter != "A" else "B") + whole[place + 1 :])


def rewritten(**parts: Any) -> str:
    """What the key signed, but not in the one way in which a link is written."""
    said = json.loads(text_of(LINK)) | parts
    text = json.dumps(said).encode()
    return urlsafe_b64encode(KEY.sign(text) + text).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "é", "A" * 3000, token() + "=", token() + "A", token()[:-1], " " + token(), rewritten(), rewritten(more=1),
        rewritten(purpose="answer"), rewritten(ends_at=True), urlsafe_b64encode(b"0" * 64 + b"[1]").decode(),
        urlsafe_b64encode(b"0" * 64 + b"[" * 900).decode(),
    ],
)  # fmt: skip
def test_what_is_not_written_as_a_link_is_none(text: str) -> None:
    assert invalid(text) == "it is not whole"


def test_other_keys_and_other_installations() -> None:
    assert invalid(token(key=OTHER)) == "its signature does not hold"
    stranger = replace(LINK, key_id=key_id_of(public(OTHER)))
    assert invalid(token(stranger, OTHER)) == "its key is not known here"
    assert invalid(token(), replace(ROW, revoked_at=20)) == "its key is revoked"
    assert invalid(token(), here="inst_other") == "it is for another installation"
    alone = ApprovalKeyRecord(stranger.key_id, public(OTHER), "eve", 10, None)  # nobody vouches for it
    assert invalid(token(stranger, OTHER), ROW, alone) == "its key is not known here"


def test_nothing_else_that_the_key_signs_is_a_link() -> None:
    answer = statement(HERE, OPEN, "ana", "approve", comment="", ask_revision=False, at=START)
    for text in (answer, addition(HERE, public(OTHER), "ana")):
        assert invalid(urlsafe_b64encode(KEY.sign(text.encode()) + text.encode()).decode().rstrip("="))


def person(name: str, *roles: str, stand_in_for: str | None = None, revoked_at: int | None = None) -> PersonRecord:
    return PersonRecord(name, json.dumps(roles), "", stand_in_for, 0, revoked_at)


PEOPLE = [
    person("ana", "manager"), person("oscar", "manager"), person("mia", stand_in_for="ana"), person("eve"),
    person("old", "manager", revoked_at=1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("for_", "may"),
    [("ana", {"ana", "mia"}), ("manager", {"ana", "oscar", "mia"}), ("old", set[str]()), ("nobody", set[str]())],
)
def test_whom_a_link_is_for(for_: str, may: set[str]) -> None:
    link = replace(LINK, for_=for_)
    for name in ("ana", "oscar", "mia", "eve", "old", "somebody else"):
        if name in may:
            check_person(link, name, PEOPLE)
        else:
            assert refusal(lambda name=name: check_person(link, name, PEOPLE)).code == "link_not_yours"


def answered(link: Link, name: str) -> AnswerRecord:
    return AnswerRecord(
        answer_id_of(link, name), OPEN.review_id, "run_1", name, "approve", OPEN.digest, "", 0, START, "now"
    )


def test_each_person_uses_a_link_once() -> None:
    given = [answered(LINK, "oscar"), answered(replace(LINK, link_id="link_2"), "ana")]
    check_use(LINK, "ana", OPEN, given, START)
    assert refusal(lambda: check_use(LINK, "ana", OPEN, [*given, answered(LINK, "ana")], START)).code == "link_used"


@pytest.mark.parametrize(
    ("now", "about", "code"),
    [
        (END, OPEN, "link_expired"),
        (END - 1, review(digest="sha256:q"), "link_stale"),
        (END - 1, review(review_id="rev_2"), "link_stale"),
    ],
)
def test_over_or_about_something_else(now: int, about: ReviewRecord, code: str) -> None:
    check_use(LINK, "ana", OPEN, (), END - 1)
    assert refusal(lambda: check_use(LINK, "ana", about, (), now)).code == code


def test_only_an_open_review_is_answered() -> None:
    check_open(OPEN)
    codes = {state: refusal(lambda s=state: check_open(review(state=s))).code for state in set(ReviewState) - {"open"}}
    assert codes.pop(ReviewState.SUPERSEDED) == "link_stale"
    assert set(codes.values()) == {"link_closed"}
