"""Signed links to a review: made where the approval key is, followed by who is signed in."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from counterfoil import settings
from counterfoil.app.signing import Signer, signer_here
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.opened import Opened
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.rules.authority import may_decide
from counterfoil.rules.links import Link, check_open, check_person, check_use, link_in, text_of, token_of
from counterfoil.rules.signing import keys_of
from counterfoil.store.port import Reader

LIFETIME = timedelta(hours=24)
PLACE = "/answer/"


def link_to(opened: Opened, reader: Reader, review: ReviewRecord, for_: str, lifetime: timedelta) -> dict[str, Any]:
    """`{link_id, review_id, for, digest, expires_at, path, link}`; `link` None where the console's address is not set.

    It ends with the review at the latest. Raises Refused: usage, unknown_owner, link_stale, link_closed, link_unsigned,
    approval_key_unusable.
    """
    now = opened.clock.now_us()
    if lifetime <= timedelta(0):
        raise Refused("usage", problem="a link lives for some time")
    people = list(reader.rows(PersonRecord))
    if not any(may_decide(person, for_, people) for person in people):
        raise Refused("unknown_owner", where="The link", owner=for_)
    check_open(review)
    ends_at = min(now + lifetime // timedelta(microseconds=1), review.expires_at)
    link, token = _made(opened, _signer(opened, reader), review, for_, ends_at)
    base = settings.value_of("COUNTERFOIL_CONSOLE_URL")
    return {
        "link_id": link.link_id, "review_id": link.review_id, "for": for_, "digest": link.digest,
        "expires_at": rfc3339(ends_at), "path": PLACE + token, "link": base.rstrip("/") + PLACE + token if base else None,
    }  # fmt: skip


def notice_paths(opened: Opened, reader: Reader) -> Callable[[str, str], str | None] | None:
    """For a review's id and a recipient the path of a link until the review ends; None where no key that counts is here."""
    try:
        signer = _signer(opened, reader)
    except Refused:
        return None  # the notice carries the plain address

    def path(review_id: str, recipient: str) -> str | None:
        review = reader.get(ReviewRecord, review_id)
        return None if review is None else PLACE + _made(opened, signer, review, recipient, review.expires_at)[1]

    return path


def followed(opened: Opened, reader: Reader, token: str, person: str) -> Link:
    """The link, signed and for this person; used or not. Raises Refused(link_invalid, link_not_yours)."""
    link = link_in(token, opened.installation_id, reader.rows(ApprovalKeyRecord))
    check_person(link, person, list(reader.rows(PersonRecord)))
    return link


def check_answerable(opened: Opened, reader: Reader, link: Link, review: ReviewRecord, person: str) -> None:
    """That an answer through it would count now. Raises Refused(link_used, link_stale, link_closed, link_expired)."""
    answers = reader.find(AnswerRecord, "review_id", review.review_id)
    check_use(link, person, review, answers, opened.clock.now_us())
    check_open(review)


def _made(opened: Opened, signer: Signer, review: ReviewRecord, for_: str, ends_at: int) -> tuple[Link, str]:
    link_id = f"link_{opened.chance.hex(112)}"
    link = Link(link_id, opened.installation_id, review.review_id, review.digest, for_, ends_at, signer.key_id)
    return link, token_of(link, signer.sign(text_of(link)))


def _signer(opened: Opened, reader: Reader) -> Signer:
    keys = keys_of(opened.installation_id, reader.rows(ApprovalKeyRecord))
    signer = signer_here(opened.location, keys) if keys.required else None
    if signer is None:
        raise Refused("link_unsigned")
    return signer
