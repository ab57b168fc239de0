"""Receivers: the contracts in force, open doubts, and how the newest attempts went."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/receivers` and `/receivers/NAME`."""
    router = APIRouter()

    @router.get("/receivers")
    def receivers(request: Request, at: AtDesk) -> Response:
        return page(request, "receivers.html", desk=at, items=at.receivers.list()["items"])

    @router.get("/receivers/{name}")
    def receiver(request: Request, at: AtDesk, name: str) -> Response:
        return page(request, "receiver.html", desk=at, it=at.receivers.show(name))

    return router
