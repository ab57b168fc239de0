"""`desk.reviews`."""

from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskReviews:
    """As `app.reviews`; what is not readable is not_found."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.reviews

    def list(self, *, state: str | None = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first."""
        return self._noun.list(state=state, cursor=cursor, limit=limit)

    def show(self, review: str) -> dict[str, Any]:
        """REVIEW."""
        return self._noun.show(review)

    async def approve(self, review: str, *, digest: str, comment: str = "") -> dict[str, Any]:
        """Approve exactly this digest, in the person's name."""
        return await self._noun.approve(review, digest=digest, by=self._sight.actor, comment=comment)

    async def reject(
        self, review: str, *, digest: str, comment: str = "", ask_revision: bool = False
    ) -> dict[str, Any]:
        """Reject this digest, in the person's name."""
        actor = self._sight.actor
        return await self._noun.reject(review, digest=digest, by=actor, comment=comment, ask_revision=ask_revision)

    async def withdraw(self, review: str, *, comment: str = "", ask_revision: bool = False) -> dict[str, Any]:
        """Take an approval back, until the first attempt."""
        return await self._noun.withdraw(review, by=self._sight.actor, comment=comment, ask_revision=ask_revision)
