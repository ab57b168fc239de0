"""The catalogue: what real receivers guarantee, whoever declares them here."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk
from counterfoil.receivers.catalogue import entries, entry
from counterfoil.receivers.catalogue.shown import listed, shown


def routes() -> APIRouter:
    """`/catalogue` and `/catalogue/ENTRY`."""
    router = APIRouter()

    @router.get("/catalogue")
    def catalogue(request: Request, at: AtDesk) -> Response:
        return page(request, "catalogue/list.html", desk=at, items=[listed(each) for each in entries()])

    @router.get("/catalogue/{id}")
    def one(request: Request, at: AtDesk, id: str) -> Response:
        return page(request, "catalogue/entry.html", desk=at, it=shown(entry(id)))

    return router
