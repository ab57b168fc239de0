"""`client.runs`: submit runs, read them, move them, follow them."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.installation import Signalled
from counterfoil.client.shapes.run import Entry, EntryEvidence, Moved, Run, RunSummary, Submitted
from counterfoil.client.stream import Entries
from counterfoil.engine.clock import Clock


class ClientRuns:
    """A run is named by its id, a unique start of it, or a number such as `run-3`."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock

    async def submit(self, workflow: str, input: Any, *, request_id: str) -> Submitted:
        """Submit a run. `input` is plain JSON. The same request id with the same content finds the run, for ever.

        Raises Refused: unknown_workflow, invalid_payload, request_conflict.
        """
        body = {"workflow": workflow, "input": input, "request_id": request_id}
        return await self._calls.act("/runs", Submitted, body)

    async def list(
        self,
        *,
        state: str | None = None,
        workflow: str | None = None,
        reason: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[RunSummary]:
        """One part of the list, newest first."""
        return await self._calls.read(
            "/runs", Page[RunSummary], state=state, workflow=workflow, reason=reason, cursor=cursor, limit=limit
        )

    def each(
        self, *, state: str | None = None, workflow: str | None = None, reason: str | None = None
    ) -> AsyncIterator[RunSummary]:
        """All of the list, part by part."""
        return each_of(self._calls, "/runs", Page[RunSummary], state=state, workflow=workflow, reason=reason)

    async def show(self, run: str) -> Run:
        """A run with its six records. Raises Refused(not_found, ambiguous_id)."""
        return await self._calls.read(f"/runs/{part(run)}", Run)

    async def resume(self, run: str, *, raises: Mapping[str, str | int] | None = None, reason: str = "") -> Moved:
        """Move a parked run on. `raises`: new limits: `attempts`, `tokens`, `calls:NAME`, `elapsed` s, `spend` USD."""
        body = {"raises": dict(raises or {}), "reason": reason}
        return await self._calls.act(f"/runs/{part(run)}/resume", Moved, body)

    async def retry(self, run: str) -> Moved:
        """Take up a failed run, finished operations kept."""
        return await self._calls.act(f"/runs/{part(run)}/retry", Moved)

    async def cancel(self, run: str, *, reason: str = "") -> Moved:
        """Withdraw the wish: nothing more is sent. What is in doubt is still asked for."""
        return await self._calls.act(f"/runs/{part(run)}/cancel", Moved, {"reason": reason})

    async def signal(self, run: str, name: str, payload: Any, *, signal_id: str) -> Signalled:
        """Deliver a signal. The same signal id twice is one signal. Raises Refused(signal_conflict, run_ended)."""
        body = {"name": name, "payload": payload, "signal_id": signal_id}
        return await self._calls.act(f"/runs/{part(run)}/signals", Signalled, body)

    async def entry(self, run: str, sequence: int) -> EntryEvidence:
        """One entry of its journal as it was stored, with its place in the hash chain. Raises Refused(not_found)."""
        return await self._calls.read(f"/runs/{part(run)}/entries/{sequence}", EntryEvidence)

    def entries(self, run: str, *, after: int | None = None, patience_s: float = 60.0) -> AsyncIterator[Entry]:
        """Every entry of its journal, oldest first, then each as it is committed, until the run ended.

        A broken connection is taken up where it was cut; `patience_s` is how long the console may be out of reach.
        """
        return Entries(self._calls, run, after, patience_s, self._clock).each()
