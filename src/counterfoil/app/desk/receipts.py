"""`desk.receipts`."""

from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.withheld import without
from counterfoil.model.access import Act, RecordKind
from counterfoil.model.errors import Refused
from counterfoil.rules.permissions import Wish

_KINDS = {"body": RecordKind.RECEIPTS}


class DeskReceipts:
    """As `app.receipts`. Seen by whoever sees every run, or administers; what was said only by who may read receipts."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.receipts

    def list(
        self, *, orphans: bool = False, receiver: str | None = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items: [DELIVERY], next_cursor}`, newest first; empty for who sees only some workflows."""
        if not self._sight.sees_installation():
            return {"items": [], "next_cursor": None}
        return self._noun.list(orphans=orphans, receiver=receiver, cursor=cursor, limit=limit)

    def show(self, delivery: str) -> dict[str, Any]:
        """One DELIVERY. Raises Refused(not_found, ambiguous_id)."""
        if not self._sight.sees_installation():
            raise Refused("not_found", what="delivery", id=delivery)
        return self._withheld(self._noun.show(delivery))

    async def close(self, delivery: str, *, reason: str) -> dict[str, Any]:
        """Say that an orphan is nothing of ours, in the person's name. Whoever may import a statement may do this."""
        self.show(delivery)
        self._sight.must(Act.IMPORT_STATEMENT)
        return self._withheld(await self._noun.close(delivery, by=self._sight.actor, reason=reason))

    def _withheld(self, view: dict[str, Any]) -> dict[str, Any]:
        with self._sight.look() as look:
            return without(view, _KINDS, lambda kind: look.may(Wish(Act.READ, kind=kind)))
