"""The typed client of the HTTP API."""

from types import TracebackType
from typing import Self

import httpx2

from counterfoil.client.asked import ClientDecisions
from counterfoil.client.calls import Calls
from counterfoil.client.conversations import ClientConversations
from counterfoil.client.decisions import ClientOperations, ClientReviews
from counterfoil.client.documents import ClientDocuments
from counterfoil.client.inbox import ClientInbox
from counterfoil.client.installation import ClientDrills, ClientIncidents, ClientReceivers, ClientWorkers, ClientWrites
from counterfoil.client.receipts import ClientReceipts
from counterfoil.client.records import ClientAudit, ClientMetrics, ClientTokens
from counterfoil.client.runs import ClientRuns
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.installation import Hit, Me
from counterfoil.client.shapes.money import Report
from counterfoil.client.statements import ClientStatements
from counterfoil.engine.clock import SystemClock

TIMEOUT_S = 30.0


class Client:
    """The verbs of a console elsewhere, with a personal token. Its nouns hold them: `runs`, `conversations`, `operations`, `reviews`, ...

    Every method is awaited on one event loop; a synchronous program calls `blocking(client.runs.show("run-1"))`. What the
    console refuses is raised as a `CounterfoilError` with the same code. Where no answer came (`no_answer`) ask again:
    submissions, signals and answers are stored once.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = TIMEOUT_S,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._calls = calls = Calls(url, token, timeout_s, transport)
        self.runs = ClientRuns(calls, SystemClock())
        self.conversations = ClientConversations(calls)
        self.documents = ClientDocuments(calls)
        self.decisions = ClientDecisions(calls)
        self.operations = ClientOperations(calls)
        self.reviews = ClientReviews(calls)
        self.inbox = ClientInbox(calls)
        self.incidents = ClientIncidents(calls)
        self.receipts = ClientReceipts(calls)
        self.writes = ClientWrites(calls)
        self.drills = ClientDrills(calls)
        self.workers = ClientWorkers(calls)
        self.receivers = ClientReceivers(calls)
        self.audit = ClientAudit(calls)
        self.metrics = ClientMetrics(calls)
        self.tokens = ClientTokens(calls)
        self.statements = ClientStatements(calls)

    async def me(self) -> Me:
        """Whose token this is. Raises Refused(token_invalid)."""
        return await self._calls.read("/me", Me)

    async def find(self, text: str, *, limit: int = 20) -> Page[Hit]:
        """What a text may mean: an id, its start, a number, a business key, a reference, a request id."""
        return await self._calls.read("/find", Page[Hit], text=text, limit=limit)

    async def report(self, *, day: str | None = None, zone: str = "UTC") -> Report:
        """What a day came to, per receiver, operation and currency. `day` is YYYY-MM-DD."""
        return await self._calls.read("/report", Report, day=day, zone=zone)

    async def close(self) -> None:
        """Close its connections."""
        await self._calls.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
