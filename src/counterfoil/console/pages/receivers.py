"""Receivers: the contracts in force, open doubts, and how the newest attempts went."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import desk


def routes() -> APIRouter:
    """`/receivers` and `/receivers/NAME`."""
    router = APIRouter()

    @router.get("/receivers")
    def receivers(request: Request, at: Any = Depends(desk)) -> Response:
        return page(request, "receivers.html", desk=at, items=at.receivers.list()["items"])

    @router.get("/receivers/{name}")
    def receiver(request: Request, name: str, at: Any = Depends(desk)) -> Response:
        return page(request, "receiver.html", desk=at, it=at.receivers.show(name))

    return router
