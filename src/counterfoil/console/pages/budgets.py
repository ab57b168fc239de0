"""What runs share: the list of budgets, one of them, and raising it."""

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.lists import cursor_of
from counterfoil.console.pages.rendering import done, page, pages_of
from counterfoil.console.signed_in import AtDesk, count_answer

LIMIT = 50


def routes() -> APIRouter:
    """`/budgets`, `/budgets/{budget}`, and letting more be used of one."""
    router = APIRouter()

    @router.get("/budgets")
    def budgets(request: Request, at: AtDesk, cursor: str = "") -> Response:
        listed = at.budgets.list(cursor=cursor_of(cursor), limit=LIMIT)
        return page(request, "lists/budgets.html", desk=at, items=listed["items"], pages=pages_of(request, listed))

    @router.get("/budgets/{budget}")
    def show(request: Request, budget: str, at: AtDesk) -> Response:
        return page(request, "budget.html", desk=at, budget=at.budgets.show(budget))

    @router.post("/budgets/{budget}/raise")
    async def lift(
        request: Request, budget: str, at: AtDesk, kind: str = Form(""), limit: str = Form(""), reason: str = Form("")
    ) -> Response:
        count_answer(request, at.actor)
        raised = await at.budgets.lift(budget, reason=reason, raises={kind: limit})
        where = address(request, f"/budgets/budget-{raised['number']}")
        return done(
            request, where, f"{raised['name']} has a new limit of {kind}: {limit}. Runs that waited for it go on."
        )

    return router
