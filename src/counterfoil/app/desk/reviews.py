"""`desk.reviews`."""

from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.withheld import review_withheld
from counterfoil.app.links import check_answerable, followed
from counterfoil.model.access import Act
from counterfoil.rules.wishes import about_review


class DeskReviews:
    """As `app.reviews`. What the person may not see is not_found; records of a kind that is not read are withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.reviews

    def list(self, *, state: str | None = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first, where the person sees."""
        with self._sight.look() as look:
            places = look.filter_places
        page = self._noun.list(state=state, places=places, cursor=cursor, limit=limit)
        with self._sight.look() as look:  # a later snapshot than the list's: it holds whatever the list holds
            items = [review_withheld(look, *look.operation_of(each["operation_id"]), each) for each in page["items"]]
            return page | {"items": items}

    def show(self, review: str) -> dict[str, Any]:
        """REVIEW. Raises Refused(not_found, ambiguous_id)."""
        with self._sight.look() as look:
            record, operation, run = look.review(review)
        view = self._noun.show(record.review_id)
        with self._sight.look() as look:
            return review_withheld(look, operation, run, view)

    def through(self, link: str) -> str:
        """The id of the review that a signed link asks about, where an answer through it would count now.

        Raises Refused: link_invalid, link_not_yours, not_found; and link_used, link_stale, link_closed, link_expired, which
        name the `review_id`.
        """
        opened = self._sight.app.open()
        with self._sight.look() as look:
            found = followed(opened, look.reader, link, look.person.name)
            record, _, _ = look.review(found.review_id)
            check_answerable(opened, look.reader, found, record, look.person.name)
        return record.review_id

    async def approve(self, review: str, *, digest: str, comment: str = "", link: str | None = None) -> dict[str, Any]:
        """Approve exactly this digest, in the person's name. `link`: the token of the link that it comes through."""
        review_id = self._may(review, Act.ANSWER)
        return await self._noun.approve(review_id, digest=digest, by=self._sight.actor, comment=comment, link=link)

    async def reject(
        self, review: str, *, digest: str, comment: str = "", ask_revision: bool = False, link: str | None = None
    ) -> dict[str, Any]:
        """Reject this digest, in the person's name. `link` as in `approve`."""
        review_id, actor = self._may(review, Act.ANSWER), self._sight.actor
        return await self._noun.reject(
            review_id, digest=digest, by=actor, comment=comment, ask_revision=ask_revision, link=link
        )

    async def withdraw(self, review: str, *, comment: str = "", ask_revision: bool = False) -> dict[str, Any]:
        """Take an approval back, until the first attempt."""
        review_id, actor = self._may(review, Act.WITHDRAW), self._sight.actor
        return await self._noun.withdraw(review_id, by=actor, comment=comment, ask_revision=ask_revision)

    def _may(self, review: str, act: Act) -> str:
        with self._sight.look() as look:
            record, operation, run = look.review(review)
            look.must(about_review(act, record, operation, run))
        return record.review_id
