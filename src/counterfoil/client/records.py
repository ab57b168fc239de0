"""`client.audit`, `client.metrics`, `client.tokens`: who did what, what is counted, and one's own tokens."""

from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.access import Token
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.records import ActDone, History, Metric


class ClientAudit:
    """For whoever may export the audit."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self,
        *,
        person: str | None = None,
        verb: str | None = None,
        day: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[ActDone]:
        """One part of the list, the newest first. `day` is YYYY-MM-DD in UTC."""
        return await self._calls.read(
            "/audit", Page[ActDone], person=person, verb=verb, day=day, cursor=cursor, limit=limit
        )

    def each(
        self, *, person: str | None = None, verb: str | None = None, day: str | None = None
    ) -> AsyncIterator[ActDone]:
        """All of the list, part by part."""
        return each_of(self._calls, "/audit", Page[ActDone], person=person, verb=verb, day=day)


class ClientMetrics:
    """Every metric with its definition."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> Page[Metric]:
        """All of them, as they are now."""
        return await self._calls.read("/metrics", Page[Metric])

    async def history(self, name: str, *, hours: int = 24) -> History:
        """One of them over the last hours, at most a week."""
        return await self._calls.read(f"/metrics/{part(name)}/history", History, hours=hours)


class ClientTokens:
    """A token is named by its id."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> Page[Token]:
        """One's own; everybody's for who administers."""
        return await self._calls.read("/tokens", Page[Token])

    async def revoke(self, token: str) -> Token:
        """From now on it is good for nothing. A token may end itself."""
        return await self._calls.act(f"/tokens/{part(token)}/revoke", Token)
