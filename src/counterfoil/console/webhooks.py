"""`/webhooks/{receiver}`: what receivers send by themselves. No session: the signature says who it is."""

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.responses import Response

from counterfoil.console.envelope import respond
from counterfoil.console.state import console_of
from counterfoil.engine.failures import said
from counterfoil.engine.problem_log import log

router = APIRouter(include_in_schema=False)


@router.post("/webhooks/{receiver}")
async def take(request: Request, receiver: str) -> Response:
    """Answered 2xx once it is on the disk, also when it came before. Its operation is looked for after the answer."""
    receipts = console_of(request).app.receipts
    body = await request.body()
    stored, new = await receipts.take(receiver, dict(request.headers), body)

    async def matched() -> None:
        try:
            await receipts.match(stored.delivery_id)
        except Exception as problem:  # the duty `deliveries` tries again
            log.error("delivery dlv-%d is not matched yet: %s", stored.number, said(problem))

    return respond({"ok": True, "new": new}, background=BackgroundTask(matched) if new else None)
