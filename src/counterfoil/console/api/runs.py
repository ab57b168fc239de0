"""Runs over HTTP."""

from fastapi import APIRouter
from starlette.responses import Response

from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/runs`."""
    router = APIRouter(tags=["runs"])

    @router.get("/runs/{run}")
    def show(run: str, at: AtDesk) -> Response:
        """A run: what is established, pending and uncertain, who can move it, and its six records."""
        return answer("runs show", at.runs.show(run))

    return router
