"""The noun `reviews`: what people are asked, and what they answer."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.finding import known_id
from counterfoil.app.links import LIFETIME, link_to
from counterfoil.app.signing import signed_answer
from counterfoil.app.views.listing import listed
from counterfoil.app.views.review import review_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.opened import Opened
from counterfoil.engine.reviews import Answer, Answered, WithdrawApproval
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.store.port import Places, Reader


class Reviews:
    """`app.reviews`. A review is named by its id, a unique prefix, its number, or `rev-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(
        self, *, state: str | None = None, places: Places = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first; each as `show`, without payload. `places`: where may be seen. Raises Refused(usage)."""
        if state is not None and state not in {member.value for member in ReviewState}:
            raise Refused("usage", problem=f"there is no state {state!r}; there are {', '.join(ReviewState)}")
        opened = self._opened()
        with opened.read() as reader:
            page = reader.lists.reviews(state=state, places=places, before=cursor, limit=limit)
            shown = Shown.of(opened, reader)
            return listed([review_view(shown, review, whole=False) for review in page.items], page.next_cursor)

    def show(self, review: str) -> dict[str, Any]:
        """APPROVAL plus number, run_id, operation_id, kind, payload, sources, deadline_at, next_action. Raises Refused(not_found)."""
        opened = self._opened()
        with opened.read() as reader:
            return review_view(Shown.of(opened, reader), _review(reader, review))

    async def approve(
        self,
        review: str,
        *,
        digest: str,
        by: Actor | str,
        secret: str = "",
        comment: str = "",
        link: str | None = None,
    ) -> dict[str, Any]:
        """Approve exactly this digest. `{review_id, state, decided: now|earlier}`; open while others must approve, too.

        `link`: the token of the link that it comes through (`link`); then also link_invalid, link_not_yours, link_used,
        link_stale and link_expired are refused.

        Raises Refused: digest_mismatch, review_closed (both answers are kept), wrong_secret, role_missing, not_permitted,
        person_revoked, own_proposal, approval_unsigned, approval_key_unusable.
        """
        return await self._answer(review, digest, by, secret, comment, approve=True, ask_revision=False, link=link)

    async def reject(
        self,
        review: str,
        *,
        digest: str,
        by: Actor | str,
        secret: str = "",
        comment: str = "",
        ask_revision: bool = False,
        link: str | None = None,
    ) -> dict[str, Any]:
        """Reject this digest; with `ask_revision` the operation stays prepared for its next version. As `approve`."""
        return await self._answer(
            review, digest, by, secret, comment, approve=False, ask_revision=ask_revision, link=link
        )

    def link(self, review: str, *, for_: str, lifetime: timedelta = LIFETIME) -> dict[str, Any]:
        """A signed link for a person or role to this version, until then or the review's end. It gives no right.

        `{link_id, review_id, for, digest, expires_at, path, link}`; `link` is None where COUNTERFOIL_CONSOLE_URL is not set.
        Raises Refused: usage, not_found, unknown_owner, link_closed, link_stale, link_unsigned, approval_key_unusable.
        """
        opened = self._opened()
        with opened.read() as reader:
            return link_to(opened, reader, _review(reader, review), for_, lifetime)

    async def withdraw(
        self, review: str, *, by: Actor | str, secret: str = "", comment: str = "", ask_revision: bool = False
    ) -> dict[str, Any]:
        """Take an approval back, until the first attempt. `{review_id, state, decided}`. Raises Refused(already_sent)."""
        opened = self._opened()
        with opened.read() as reader:
            record, person = _review(reader, review), proven(reader, by, secret)
        verb = WithdrawApproval(record.run_id, record.review_id, record.operation_id, person, comment, ask_revision)
        withdrawn: ReviewRecord = await opened.write(verb)
        return {"review_id": withdrawn.review_id, "state": withdrawn.state.value, "decided": "now"}

    async def _answer(
        self,
        review: str,
        digest: str,
        by: Actor | str,
        secret: str,
        comment: str,
        *,
        approve: bool,
        ask_revision: bool,
        link: str | None,
    ) -> dict[str, Any]:
        opened = self._opened()
        with opened.read() as reader:
            record, person = _review(reader, review), proven(reader, by, secret)
            signed = signed_answer(
                opened, reader, record, person, approve=approve, comment=comment, ask_revision=ask_revision
            )
        answered: Answered = await opened.write(
            Answer(
                record.run_id, record.review_id, record.operation_id, person, approve, digest, comment, ask_revision, signed,
                link,
            )
        )  # fmt: skip
        if answered.refused is not None:
            raise answered.refused
        return {
            "review_id": record.review_id, "state": answered.review.state.value, "decided": answered.decided,
            "run_id": record.run_id, "operation_id": record.operation_id,
        }  # fmt: skip


def _review(reader: Reader, text: str) -> ReviewRecord:
    record = reader.get(ReviewRecord, known_id(reader, "review", text))
    assert record is not None, "the id was just found in this snapshot"
    return record
