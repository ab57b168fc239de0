"""What a page listens to: server-sent messages that something was committed. What changed is fetched anew, as a page."""

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from counterfoil.console import live, live_conversation
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/live` for lists, `/live/runs/RUN?seen=SEQUENCE` for what belongs to one run, `/live/conversations/ID?seen=MARK`."""
    router = APIRouter()

    @router.get("/live")
    async def everything(request: Request, at: AtDesk) -> StreamingResponse:
        del at
        return live.everything(request)

    @router.get("/live/runs/{run}")
    async def one_run(request: Request, run: str, at: AtDesk, seen: int = -1) -> StreamingResponse:
        return live.one_run(request, at, run, seen)

    @router.get("/live/conversations/{conversation}")
    async def one_conversation(request: Request, conversation: str, at: AtDesk, seen: str = "") -> StreamingResponse:
        return live_conversation.one_conversation(request, at, conversation, seen)

    return router
