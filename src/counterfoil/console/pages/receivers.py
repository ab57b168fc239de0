"""Receivers: the contracts in force, open doubts, and how the newest attempts went."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk

Text = Annotated[str, Form()]


def routes() -> APIRouter:
    """`/receivers`, `/receivers/NAME`, and its pause."""
    router = APIRouter()

    @router.get("/receivers")
    def receivers(request: Request, at: AtDesk) -> Response:
        orphans = len(at.receipts.list(orphans=True, limit=200)["items"])
        return page(request, "receivers.html", desk=at, items=at.receivers.list()["items"], orphans=orphans)

    @router.get("/receivers/{name}")
    def receiver(request: Request, at: AtDesk, name: str) -> Response:
        return page(request, "receiver.html", desk=at, it=at.receivers.show(name), acts=at.me()["acts"])

    @router.post("/receivers/{name}/pause")
    async def pause(request: Request, at: AtDesk, name: str, reason: Text = "") -> Response:
        await at.receivers.pause(name, reason=reason)
        said = f"{name} is paused. What is meant for it waits, and says so; asking goes on."
        return done(request, address(request, f"/receivers/{name}"), said)

    @router.post("/receivers/{name}/resume")
    async def resume(request: Request, at: AtDesk, name: str, reason: Text = "") -> Response:
        await at.receivers.resume(name, reason=reason)
        return done(
            request, address(request, f"/receivers/{name}"), f"{name} is sent to again. What waited goes on by itself."
        )

    return router
