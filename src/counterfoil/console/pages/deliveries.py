"""What receivers sent by themselves: all of it, the orphans, and one with its body and its closing."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.lists import LIMIT, cursor_of
from counterfoil.console.pages.rendering import done, page, pages_of
from counterfoil.console.signed_in import AtDesk, count_answer


def routes() -> APIRouter:
    """`/deliveries`, `/deliveries/DELIVERY` and `/deliveries/DELIVERY/close`."""
    router = APIRouter()

    @router.get("/deliveries")
    def deliveries(request: Request, at: AtDesk, orphans: str = "", receiver: str = "", cursor: str = "") -> Response:
        listed = at.receipts.list(
            orphans=orphans == "yes", receiver=receiver or None, cursor=cursor_of(cursor), limit=LIMIT
        )
        return page(request, "lists/deliveries.html", desk=at, items=listed["items"], pages=pages_of(request, listed))

    @router.get("/deliveries/{delivery}")
    def show(request: Request, at: AtDesk, delivery: str) -> Response:
        it = at.receipts.show(delivery)
        operation = None if it["operation_id"] is None else at.operations.show(it["operation_id"])
        return page(request, "delivery.html", desk=at, it=it, operation=operation)

    @router.post("/deliveries/{delivery}/close")
    async def close(request: Request, at: AtDesk, delivery: str, reason: Annotated[str, Form()] = "") -> Response:
        count_answer(request, at.actor)
        it = await at.receipts.close(delivery, reason=reason)
        return done(request, address(request, f"/deliveries/dlv-{it['number']}"), f"dlv-{it['number']} is closed.")

    return router
