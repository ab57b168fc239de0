"""The noun `receipts`: what receivers send by themselves, and what is counted at them."""

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.sweeping.asked_for import sweep
from counterfoil.app.views.delivery import delivery_view
from counterfoil.app.views.listing import listed
from counterfoil.app.webhooks.matching import match
from counterfoil.app.webhooks.taking import take
from counterfoil.engine.deliveries import CloseDelivery
from counterfoil.engine.opened import Opened
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.errors import Refused
from counterfoil.store.port import Reader


class Receipts:
    """`app.receipts`. A delivery is named by its id, a unique start of it, its number, or `dlv-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    async def take(self, receiver: str, headers: Mapping[str, str], body: bytes) -> tuple[DeliveryRecord, bool]:
        """Verify and store one message; durable when it returns. Gives it, and whether it is new. It is not matched yet.

        `headers`: names in lower case. Raises Refused(webhook_refused, malformed_json) and StorageError.
        """
        return await take(self._opened(), receiver, headers, body)

    async def match(self, delivery: str) -> dict[str, Any]:
        """Match a stored message now, as the duty `deliveries` does by itself. DELIVERY. Raises as `show`."""
        opened = self._opened()
        with opened.read() as reader:
            found = _delivery(reader, delivery)
        await match(opened, found.delivery_id)
        return self.show(found.delivery_id)

    def list(
        self, *, orphans: bool = False, receiver: str | None = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items: [DELIVERY], next_cursor}`, newest first. `orphans`: those that name nothing of ours, unweighed.

        DELIVERY: {delivery_id, number, receiver, own_id, type, state, body, body_digest, received_at, seen, tries, next_at,
        operation_id, run_id, receipt_id, later, closed_at, closed_by, reason, next_action}. In a list `body` is None.
        """
        opened = self._opened()
        with opened.read() as reader:
            found, following = reader.received.page(orphans=orphans, receiver=receiver, before=cursor, limit=limit)
            return listed([delivery_view(opened, reader, each, whole=False) for each in found], following)

    def show(self, delivery: str) -> dict[str, Any]:
        """One DELIVERY with its body. Raises Refused(not_found, ambiguous_id)."""
        opened = self._opened()
        with opened.read() as reader:
            return delivery_view(opened, reader, _delivery(reader, delivery))

    async def close(self, delivery: str, *, by: Actor | str, secret: str = "", reason: str) -> dict[str, Any]:
        """Say that an orphan is nothing of ours: it is weighed, and shown no more. DELIVERY.

        Raises Refused: not_orphan, wrong_secret, not_permitted, usage.
        """
        if not reason.strip():
            raise Refused("usage", problem="closing an orphan names its reason")
        opened = self._opened()
        with opened.read() as reader:
            found = _delivery(reader, delivery)
            person = proven(reader, by, secret)
        await opened.write(CloseDelivery(opened.installation_id, found.delivery_id, person, reason))
        return self.show(found.delivery_id)

    async def sweep(self, *, receiver: str | None = None, again: bool = False, limit: int = 100) -> dict[str, Any]:
        """Count records at receivers now, as the duty `sweep` does by itself, at the same rate. Nothing is sent.

        `again`: also what is not due. Gives {asked, unreachable, left, duplicates: [{operation_id, number, run_id, receiver,
        business_key, incident_id, records, owner}], notices: [{operation_id, number, run_id, receiver, business_key, records,
        notice}]}. `left`: more is to be counted. Raises Refused(not_found, usage).
        """
        return await sweep(self._opened(), receiver=receiver, again=again, limit=limit)


def _delivery(reader: Reader, text: str) -> DeliveryRecord:
    found = reader.received.named(text)
    if not found:
        raise Refused("not_found", what="delivery", id=text)
    if len(found) > 1:
        raise Refused("ambiguous_id", what="delivery", id=text)
    return found[0]
