"""One incident: what the receiver says against the record, and closing it once somebody has weighed that."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk, count_answer


def routes() -> APIRouter:
    """`/incidents/INCIDENT` and `/incidents/INCIDENT/close`."""
    router = APIRouter()

    @router.get("/incidents/{incident}")
    def show(request: Request, at: AtDesk, incident: str) -> Response:
        it = at.incidents.show(incident)
        operation = at.operations.show(it["operation_id"])
        return page(request, "incident.html", desk=at, it=it, operation=operation)

    @router.post("/incidents/{incident}/close")
    async def close(request: Request, at: AtDesk, incident: str, reason: Annotated[str, Form()] = "") -> Response:
        count_answer(request, at.actor)
        it = at.incidents.show(incident)
        await at.incidents.close(it["incident_id"], reason=reason)
        said = f"inc-{it['number']} is closed: its business key is free again, and its run goes on."
        return done(request, address(request, f"/incidents/inc-{it['number']}"), said)

    return router
