"""What a page listens to: server-sent messages that something was committed. What changed is fetched anew, as a page."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import StreamingResponse

from counterfoil.console.changes import Following
from counterfoil.console.signed_in import actor, desk
from counterfoil.console.state import console_of
from counterfoil.model.errors import Refused

ALIVE_US = 15_000_000  # so often a page hears that it is still connected
REST_US = 700_000  # a busy worker commits often; a page is told at most so often


def routes() -> APIRouter:
    """`/live` for lists, `/live/runs/RUN` for what belongs to one run."""
    router = APIRouter()

    @router.get("/live")
    async def live(request: Request, at: Any = Depends(desk)) -> StreamingResponse:
        del at
        return stream(request, console_of(request).changes.of_any())

    @router.get("/live/runs/{run}")
    async def live_run(request: Request, run: str, at: Any = Depends(desk)) -> StreamingResponse:
        run_id = at.runs.show(run)["run_id"]
        return stream(request, console_of(request).changes.of_run(run_id))

    return router


def stream(request: Request, following: AbstractAsyncContextManager[Following]) -> StreamingResponse:
    """`changed` after a commit, `alive` otherwise; ends when the console closes or the session does."""
    return StreamingResponse(
        _messages(request, following), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


async def _messages(request: Request, following: AbstractAsyncContextManager[Following]) -> AsyncGenerator[str]:
    console = console_of(request)
    clock = console.app.open().clock
    async with following as follows:
        yield _message("alive")
        while not console.closing.is_set() and not await request.is_disconnected():
            changed = await follows.wait(console.closing, clock.now_us() + ALIVE_US)
            if console.closing.is_set() or not _signed_in(request):
                return
            yield _message("changed" if changed else "alive")
            if changed:
                await clock.wait(console.closing, clock.now_us() + REST_US)


def _signed_in(request: Request) -> bool:
    try:
        actor(request)
    except Refused:
        return False
    return True


def _message(name: str) -> str:
    return f"event: {name}\ndata: \n\n"
