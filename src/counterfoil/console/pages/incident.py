"""One incident: what the receiver says against the record, and closing it once somebody has weighed that."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

PAGE = 200


def routes() -> APIRouter:
    """`/incidents/INCIDENT` and `/incidents/INCIDENT/close`."""
    router = APIRouter()

    @router.get("/incidents/{incident}")
    def show(request: Request, at: AtDesk, incident: str) -> Response:
        it = found(at, incident)
        operation = at.operations.show(it["operation_id"])
        return page(request, "incident.html", desk=at, it=it, operation=operation)

    @router.post("/incidents/{incident}/close")
    async def close(request: Request, at: AtDesk, incident: str, reason: Annotated[str, Form()] = "") -> Response:
        count_answer(request, at.actor)
        it = found(at, incident)
        await at.incidents.close(it["incident_id"], reason=reason)
        said = f"inc-{it['number']} is closed: its business key is free again, and its run goes on."
        return done(request, address(request, f"/incidents/inc-{it['number']}"), said)

    return router


def found(at: Desk, incident: str) -> dict[str, Any]:
    """An incident by its number or id, among those that the person sees. Raises Refused(not_found)."""
    cursor: int | None = None
    while True:
        listed = at.incidents.list(cursor=cursor, limit=PAGE)
        for it in listed["items"]:
            if incident in (f"inc-{it['number']}", str(it["number"]), it["incident_id"]):
                return it
        cursor = listed["next_cursor"]
        if cursor is None:
            raise Refused("not_found", what="incident", id=incident)
