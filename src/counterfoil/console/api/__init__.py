"""The HTTP API, `/api/v1`: the same verbs and shapes as the command line."""

from fastapi import APIRouter

from counterfoil.console.api import (
    access,
    conversations,
    decisions,
    documents,
    entries,
    inbox,
    installation,
    money,
    operations,
    receipts,
    records,
    reviews,
    runs,
)


def routes() -> APIRouter:
    """Every endpoint, without its prefix."""
    router = APIRouter()
    for each in (
        runs,
        entries,
        conversations,
        decisions,
        documents,
        inbox,
        operations,
        reviews,
        installation,
        money,
        receipts,
        records,
        access,
    ):
        router.include_router(each.router)
    return router
