"""`client.receipts`: what receivers sent by themselves."""

from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.delivery import Delivery


class ClientReceipts:
    """Deliveries, named by id, number or `dlv-NUMBER`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, orphans: bool = False, receiver: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Delivery]:
        """What receivers sent by themselves, newest first. `orphans`: those that name nothing of ours, unweighed."""
        asked = {"orphans": orphans, "receiver": receiver, "cursor": cursor, "limit": limit}
        return await self._calls.read("/deliveries", Page[Delivery], **asked)

    def each(self, *, orphans: bool = False, receiver: str | None = None) -> AsyncIterator[Delivery]:
        """All of them, part by part."""
        return each_of(self._calls, "/deliveries", Page[Delivery], orphans=orphans, receiver=receiver)

    async def show(self, delivery: str) -> Delivery:
        """One of them, with its body. Raises Refused(not_found, ambiguous_id)."""
        return await self._calls.read(f"/deliveries/{part(delivery)}", Delivery)

    async def close(self, delivery: str, *, reason: str) -> Delivery:
        """Say that an orphan is nothing of ours. Raises Refused(not_orphan, not_permitted)."""
        return await self._calls.act(f"/deliveries/{part(delivery)}/close", Delivery, {"reason": reason})
