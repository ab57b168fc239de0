"""Server-sent streams for pages: they say that something was committed, and that the connection lives. Pages fetch the rest.

A run's stream knows the newest entry that the page holds (`seen` in its address, or the browser's own `Last-Event-ID`), so that
nothing is missed between the page and its stream, nor over a restart of the server.
"""

from collections.abc import AsyncGenerator

from fastapi import Request
from starlette.responses import StreamingResponse

from counterfoil.app.desk import Desk
from counterfoil.console.changes import Following
from counterfoil.console.signed_in import actor
from counterfoil.console.state import Console, console_of
from counterfoil.model.errors import Refused

ALIVE_US = 15_000_000  # so often a page hears that it is still connected
REST_US = 700_000  # a busy worker commits often; a page is told at most so often
RETRY_MS = 1_000  # what a browser waits that connects again by itself
_LONGEST_NUMBER = 16


def everything(request: Request) -> StreamingResponse:
    """`changed` at once and after any commit, `alive` otherwise; ends when the console closes or the session does."""
    return streamed(_any_messages(request, console_of(request)))


def one_run(request: Request, at: Desk, run: str, seen: int) -> StreamingResponse:
    """The same for one run, from the entry on that the page has seen. Raises Refused(not_found)."""
    run_id = str(at.runs.show(run)["run_id"])
    resumed = request.headers.get("Last-Event-ID", "")
    known = int(resumed) if resumed.isdecimal() and len(resumed) < _LONGEST_NUMBER else seen
    return streamed(_run_messages(request, console_of(request), at, run_id, known))


def streamed(messages: AsyncGenerator[str]) -> StreamingResponse:
    """Server-sent messages as an answer."""
    return StreamingResponse(messages, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _any_messages(request: Request, console: Console) -> AsyncGenerator[str]:
    async with console.changes.of_any() as following:
        # What was committed between the page and its stream is in neither: a list is fetched once more.
        yield f"retry: {RETRY_MS}\n\n{message('changed')}"
        while await goes_on(request, console):
            changed = await _waited(console, following)
            if not await goes_on(request, console):
                return
            yield message("changed" if changed else "alive")
            if changed:
                await _rest(console)


async def _run_messages(request: Request, console: Console, at: Desk, run_id: str, seen: int) -> AsyncGenerator[str]:
    async with console.changes.of_run(run_id) as following:
        yield f"retry: {RETRY_MS}\n\n{message('alive')}"
        while await goes_on(request, console):
            newest = _newest(at, run_id, seen)
            if newest != seen:
                seen = newest
                yield message("changed", seen)
                await _rest(console)
            elif not await _waited(console, following):
                yield message("alive")


def _newest(at: Desk, run_id: str, seen: int) -> int:
    """The sequence of the run's newest entry, as far as the person may still read it."""
    try:
        return int(at.evidence.newest(run_id)["sequence"])
    except Refused:
        return seen


async def _waited(console: Console, following: Following) -> bool:
    return await following.wait(console.closing, console.app.open().clock.now_us() + ALIVE_US)


async def _rest(console: Console) -> None:
    clock = console.app.open().clock
    await clock.wait(console.closing, clock.now_us() + REST_US)


async def goes_on(request: Request, console: Console) -> bool:
    """A stream never outlives the session it was opened in."""
    if console.closing.is_set() or await request.is_disconnected():
        return False
    try:
        await actor(request)
    except Refused:
        return False
    return True


def message(name: str, number: int | str | None = None, data: str | None = None) -> str:
    """One server-sent message. `number` is its id."""
    return ("" if number is None else f"id: {number}\n") + f"event: {name}\ndata: {data or name}\n\n"
