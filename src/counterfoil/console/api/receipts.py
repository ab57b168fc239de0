"""What receivers sent by themselves, over HTTP. They send it to `/webhooks/{receiver}`, outside of this API."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.delivery import Delivery
from counterfoil.console.api.bodies import Reasoned
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk, count_answer

router = router_of("receipts")


@router.get("/deliveries", responses=gives(Answer[Page[Delivery]]))
def list_deliveries(
    at: AtDesk,
    orphans: bool = False,
    receiver: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List what receivers sent by themselves, newest first; or only what names nothing of ours."""
    page = at.receipts.list(orphans=orphans, receiver=receiver, cursor=opened("deliveries", cursor), limit=limit)
    return answer("receipts list", opaque("deliveries", page))


@router.get("/deliveries/{delivery}", responses=gives(Answer[Delivery]))
def show_delivery(at: AtDesk, delivery: Which) -> Response:
    """Show a message of a receiver, and what it was matched with."""
    return answer("receipts show", at.receipts.show(delivery))


@router.post("/deliveries/{delivery}/close", responses=gives(Answer[Delivery]))
async def close_delivery(request: Request, at: AtDesk, delivery: Which, body: Reasoned) -> Response:
    """Say that an orphan is nothing of ours."""
    count_answer(request, at.actor)
    return answer("receipts close", await at.receipts.close(delivery, reason=body.reason))
