"""A run's entries over HTTP: in parts, or as a stream of server-sent events that resumes where it was cut."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Header, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from counterfoil.app.desk import Desk
from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.run import Entry, EntryEvidence
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer, refusal
from counterfoil.console.signed_in import AtDesk, desk
from counterfoil.console.state import Console, console_of
from counterfoil.model.errors import CounterfoilError, Refused

router = router_of("runs")

STREAM = "text/event-stream"
HEARTBEAT_US = 15_000_000  # also how soon a stream notices that its reader may no longer read
PART = 200
LARGEST = 10**15  # of a sequence
ENDED = frozenset({"completed", "failed", "cancelled"})

_GIVES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Answer[Page[Entry]],
        "description": "A part of the journal; as `text/event-stream` one message for each entry, its id the sequence.",
        "content": {STREAM: {"schema": {"type": "string"}}},
    }
}


@router.get("/runs/{run}/entries", responses=_GIVES)
async def list_entries(
    request: Request,
    at: AtDesk,
    run: Which,
    accept: Annotated[str, Header(max_length=200)] = "",
    last_seen: Annotated[
        str | None, Header(alias="Last-Event-ID", max_length=30, description="The sequence that was seen last.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Read a run's journal, oldest first. With `Accept: text/event-stream` it follows the run until it ended."""
    if STREAM in accept:
        after = _sequence(last_seen) if last_seen else opened("entries", cursor)
        record = await run_in_threadpool(at.runs.show, run)
        follower = _Follower(request, console_of(request), at, record["run_id"], after)
        return StreamingResponse(follower.messages(), media_type=STREAM, headers={"X-Accel-Buffering": "no"})
    page = await run_in_threadpool(at.evidence.entries, run, cursor=opened("entries", cursor), limit=limit)
    return answer("runs entries", opaque("entries", page))


@router.get("/runs/{run}/entries/{sequence}", responses=gives(Answer[EntryEvidence]))
def show_entry(at: AtDesk, run: Which, sequence: Annotated[int, Path(ge=0, le=LARGEST)]) -> Response:
    """Show one entry as it was stored, with its place in the hash chain."""
    return answer("runs entry", at.evidence.entry(run, sequence))


def _sequence(text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise Refused("usage", problem="Last-Event-ID is no sequence of an entry")
    return int(text)


class _Follower:
    """Gives the entries there are, then each as it is committed."""

    def __init__(self, request: Request, console: Console, at: Desk, run_id: str, after: int | None) -> None:
        self._request, self._console, self._at, self._run_id, self._after = request, console, at, run_id, after

    async def messages(self) -> AsyncIterator[str]:
        """Until the run ended, its reader may no longer read it, or the server drains: then the reader comes back."""
        clock = self._console.app.clock
        yield "retry: 1000\n\n"
        async with self._console.changes.of_run(self._run_id) as following:
            try:
                while not self._console.closing.is_set():
                    ended = await self._ended()  # before its entries are read: its last one is then among them
                    async for message in self._new():
                        yield message
                    if ended:
                        yield f"event: end\ndata: {json.dumps({'run_id': self._run_id})}\n\n"
                        return
                    while not await following.wait(self._console.closing, clock.now_us() + HEARTBEAT_US):
                        if self._console.closing.is_set():
                            return
                        yield ": still here\n\n"
                        self._at = await desk(self._request)
                    self._at = await desk(self._request)
            except CounterfoilError as error:
                yield f"event: refused\ndata: {json.dumps(refusal(error), default=str)}\n\n"

    async def _new(self) -> AsyncIterator[str]:
        while True:
            page = await run_in_threadpool(self._at.evidence.entries, self._run_id, cursor=self._after, limit=PART)
            for entry in page["items"]:
                self._after = entry["sequence"]
                yield f"id: {entry['sequence']}\nevent: entry\ndata: {json.dumps(entry)}\n\n"
            if page["next_cursor"] is None:
                return

    async def _ended(self) -> bool:
        state = (await run_in_threadpool(self._at.runs.show, self._run_id))["state"]
        return state in ENDED
