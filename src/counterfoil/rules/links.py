"""Signed links to one question: what a link says, whether a key that counts signed it, and whether it still leads to an answer.

A link gives no right and proves nobody: it names the question, and whoever follows it signs in and may what they may.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from counterfoil.model import ids
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.codec import canonical, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.rules.authority import may_decide
from counterfoil.rules.signing import keys_of, verified

_PURPOSE = "answer link"  # the same key signs answers and keys: none of the three can be taken for another
_SIGNATURE = 64  # bytes, in front of the text
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Link:
    """`for_`: a person or role. `ends_at` in microseconds. `key_id`: the approval key that signs it."""

    link_id: str
    installation: str
    review_id: str
    digest: str
    for_: str
    ends_at: int
    key_id: str


def text_of(link: Link) -> str:
    """What is signed: canonical JSON."""
    return canonical(
        {
            "purpose": _PURPOSE,
            "link": link.link_id,
            "installation": link.installation,
            "review": link.review_id,
            "digest": link.digest,
            "for": link.for_,
            "ends_at": link.ends_at,
            "key": link.key_id,
        },
        where="the link",
    ).decode()


def token_of(link: Link, signature: str) -> str:
    """The link as one word for an address. `signature`: of `text_of(link)`, as hex."""
    return urlsafe_b64encode(bytes.fromhex(signature) + text_of(link).encode()).decode().rstrip("=")


def link_in(token: str, installation_id: str, rows: Iterable[ApprovalKeyRecord]) -> Link:
    """The link that a token holds, signed by a key that counts now. `rows`: all keys. Raises Refused(link_invalid)."""
    link, signature = _read(token)
    if link.installation != installation_id:
        raise Refused("link_invalid", problem="it is for another installation")
    known = {row.key_id: row for row in rows}
    public_key = keys_of(installation_id, known.values()).live.get(link.key_id)
    if public_key is None:
        revoked = link.key_id in known and known[link.key_id].revoked_at is not None
        raise Refused("link_invalid", problem=f"its key is {'revoked' if revoked else 'not known here'}")
    if not verified(public_key, text_of(link), signature):
        raise Refused("link_invalid", problem="its signature does not hold")
    return link


def _read(token: str) -> tuple[Link, str]:
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4)) if len(token) <= _LONGEST else b""
        said: Any = parsed(raw[_SIGNATURE:].decode())
        link = Link(
            str(said["link"]), str(said["installation"]), str(said["review"]), str(said["digest"]), str(said["for"]),
            int(said["ends_at"]), str(said["key"]),
        )  # fmt: skip
        signature = raw[:_SIGNATURE].hex()
        # Written again it must be the same: there is one token for a link, and nothing in it is overlooked.
        if token_of(link, signature) != token:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, Refused) as problem:
        raise Refused("link_invalid", problem="it is not whole") from problem
    return link, signature


def check_person(link: Link, name: str, people: Collection[PersonRecord]) -> None:
    """That it is for this person: by name, by a role, or standing in for who is meant. Raises Refused(link_not_yours)."""
    person = next((each for each in people if each.name == name), None)
    if person is None or not may_decide(person, link.for_, people):
        raise Refused("link_not_yours", for_=link.for_, name=name)


def answer_id_of(link: Link, person: str) -> str:
    """What this person answers through this link has one id: it cannot be there twice."""
    return ids.derived("ans", link.review_id, link.link_id, person)


def check_use(link: Link, person: str, review: ReviewRecord, answers: Iterable[AnswerRecord], now: int) -> None:
    """That the person may still use it for this review. Raises Refused(link_used, link_stale, link_expired)."""
    used = answer_id_of(link, person)
    for answer in answers:
        if answer.answer_id == used:
            raise Refused("link_used", review_id=review.review_id, name=person, at=rfc3339(answer.at))
    if (link.review_id, link.digest) != (review.review_id, review.digest):
        raise Refused("link_stale", review_id=review.review_id)
    if link.ends_at <= now:
        raise Refused("link_expired", review_id=review.review_id, at=rfc3339(link.ends_at))


def check_open(review: ReviewRecord) -> None:
    """That there is something to answer. Raises Refused(link_stale, link_closed)."""
    if review.state is ReviewState.SUPERSEDED:
        raise Refused("link_stale", review_id=review.review_id)
    if review.state is not ReviewState.OPEN:
        raise Refused("link_closed", review_id=review.review_id, state=review.state.value)
