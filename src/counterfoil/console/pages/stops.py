"""Stop: suspend and resume writes by receiver, by operation or for everything."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.lists import receivers_of
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.pages.words import scope
from counterfoil.console.signed_in import AtDesk
from counterfoil.model.errors import Refused

Text = Annotated[str, Form()]


def routes() -> APIRouter:
    """`/stop`, `/stop/suspend`, `/stop/resume`."""
    router = APIRouter()

    @router.get("/stop")
    def stop(request: Request, at: AtDesk, receiver: str = "", operation: str = "") -> Response:
        items = at.writes.status()["items"]
        return page(
            request, "stop.html", desk=at, receivers=receivers_of(request, at)[1:], receiver=receiver, operation=operation,
            acts=at.me()["acts"], unattended=at.drills.unattended()["items"],
            in_force=[item for item in items if item["lifted_at"] is None],
            lifted=[item for item in items if item["lifted_at"] is not None][-50:][::-1],
        )  # fmt: skip

    @router.post("/stop/suspend")
    async def suspend(
        request: Request, at: AtDesk, what: Text = "", receiver: Text = "", operation: Text = "", reason: Text = "",
        sure: Text = ""
    ) -> Response:  # fmt: skip
        _confirmed(sure)
        if what not in ("receiver", "operation", "all"):
            raise Refused("usage", problem="say whether one receiver, one operation or everything is stopped")
        stopped = await at.writes.suspend(
            reason=reason, receiver=receiver if what == "receiver" else None,
            operation=operation.strip() if what == "operation" else None, all_=what == "all",
        )  # fmt: skip
        said = f"Sending is stopped for {scope(stopped['scope'])}. Asking goes on; nothing was lost."
        return done(request, address(request, "/stop"), said)

    @router.post("/stop/resume")
    async def resume(
        request: Request, at: AtDesk, scope_text: Annotated[str, Form(alias="scope")] = "", reason: Text = "", sure: Text = ""
    ) -> Response:  # fmt: skip
        _confirmed(sure)
        kind, _, name = scope_text.partition(":")
        lifted = await at.writes.resume(
            reason=reason, receiver=name if kind == "receiver" else None,
            operation=name if kind == "operation" else None, all_=scope_text == "all",
        )  # fmt: skip
        return done(request, address(request, "/stop"), f"Sending goes on for {scope(lifted['scope'])}.")

    return router


def _confirmed(sure: str) -> None:
    if sure != "yes":
        raise Refused("usage", problem="tick the box that says what this does")
