"""Acting on many things of the inbox: what fits a view is counted and shown first, and then acted on one by one."""

from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.pages.inbox import item_path
from counterfoil.console.pages.inbox_view import View
from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

# What may be done with many at once. Resolving is not among it: that stays one by one, or by a statement.
ACTS = {
    "lookup": ("Look up again", "The receiver is asked once for each; what it shows decides. Nothing is sent again."),
    "resume": ("Resume", "Each parked run goes on from where it stopped."),
    "cancel": ("Cancel", "What was never sent is withdrawn for good. What is in doubt stays open until it is known."),
    "hand-over": ("Hand over", "Each is given to another person or role."),
}
Text = Annotated[str, Form()]


def routes() -> APIRouter:
    """`/inbox/bulk`: GET shows what would be acted on, POST acts."""
    router = APIRouter()

    @router.get("/inbox/bulk")
    def preview(request: Request, at: AtDesk, act: str = "lookup") -> Response:
        view = View.of(request)
        seen = at.inbox.preview(_known(act), view.wanted(at.me()["name"]))
        return page(request, "inbox_bulk.html", desk=at, act=act, acts=ACTS, view=view, seen=seen, item_path=item_path)

    @router.post("/inbox/bulk")
    async def carry_out(
        request: Request, at: AtDesk, act: Text = "", filters: Text = "", count: Annotated[int, Form()] = -1, digest: Text = "",
        reason: Text = "", to: Text = "",
    ) -> Response:  # fmt: skip
        count_answer(request, at.actor)
        if act == "cancel" and not reason.strip():
            raise Refused("usage", problem="cancelling names its reason")
        view = View.named(dict(parse_qsl(filters.lstrip("?"))))
        result = await at.inbox.carry_out(
            _known(act), view.wanted(at.me()["name"]), count=count, digest=digest or None, reason=reason,
            to=to.strip() or None,
        )  # fmt: skip
        return page(request, "inbox_done.html", desk=at, act=act, acts=ACTS, view=view, result=result)

    return router


def _known(act: str) -> Any:
    if act not in ACTS:
        raise Refused("usage", problem=f"nothing here is called {act!r}; there are {', '.join(ACTS)}")
    return act
