"""One document of the working context: its versions, and the run that wrote each."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.console.pages.run import pretty
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/documents/{document}`."""
    router = APIRouter()

    @router.get("/documents/{document}")
    def show(request: Request, document: str, at: AtDesk) -> Response:
        shown = at.documents.show(document)
        return page(request, "document.html", desk=at, document=shown, versions=shown["versions"], pretty=pretty)

    return router
