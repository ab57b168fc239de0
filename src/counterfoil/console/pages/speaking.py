"""Sending a message from a page: to a conversation, or to begin one."""

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.rendering import done
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.engine.clock import Chance
from counterfoil.model.errors import Refused


def routes() -> APIRouter:
    """What the forms of `/conversations` and `/conversations/{conversation}` post."""
    router = APIRouter()

    @router.post("/conversations")
    async def begin(
        request: Request,
        at: AtDesk,
        name: str = Form(""),
        agent: str = Form(""),
        text: str = Form(""),
        request_id: str = Form(""),
    ) -> Response:
        return await _send(request, at, name, text, request_id, agent=agent)

    @router.post("/conversations/{conversation}/messages")
    async def say(
        request: Request,
        conversation: str,
        at: AtDesk,
        text: str = Form(""),
        request_id: str = Form(""),
        when_busy: str = Form(""),
    ) -> Response:
        return await _send(request, at, conversation, text, request_id, when_busy=when_busy or None)

    return router


async def _send(
    request: Request, at: Desk, conversation: str, text: str, request_id: str, *, agent: str | None = None,
    when_busy: str | None = None,
) -> Response:  # fmt: skip
    """The id comes with the form, so that a form that is sent twice is one message."""
    count_answer(request, at.actor)
    if not text.strip():
        raise Refused("usage", problem="a message has a text")
    sent = await at.conversations.send(
        text, conversation=conversation, request_id=request_id, agent=agent, when_busy=when_busy
    )
    told = f"Turn {sent['turn']} of {sent['conversation']} is accepted. {sent['sentence']}"
    return done(request, address(request, f"/conversations/{sent['conversation_id']}"), told)


def new_request_id() -> str:
    """For one form."""
    return f"console {Chance().hex(64)}"
