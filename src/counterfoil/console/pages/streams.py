"""What a page listens to: server-sent messages that something was committed. What changed is fetched anew, as a page."""

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from counterfoil.console import live
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/live` for lists, `/live/runs/RUN?seen=SEQUENCE` for what belongs to one run."""
    router = APIRouter()

    @router.get("/live")
    async def everything(request: Request, at: AtDesk) -> StreamingResponse:
        del at
        return live.everything(request)

    @router.get("/live/runs/{run}")
    async def one_run(request: Request, run: str, at: AtDesk, seen: int = -1) -> StreamingResponse:
        return live.one_run(request, at, run, seen)

    return router
