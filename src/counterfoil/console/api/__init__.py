"""The HTTP API, `/api/v1`: the same verbs and shapes as the command line."""

from fastapi import APIRouter

from counterfoil.console.api import runs


def routes() -> APIRouter:
    """Every endpoint, without its prefix."""
    router = APIRouter()
    router.include_router(runs.routes())
    return router
