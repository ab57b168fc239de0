"""The page of one operation: its life, every attempt, the contract in force, the receiver's records beside ours, and what may be done."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.addresses import address
from counterfoil.console.pages.around import newest_around, run_around
from counterfoil.console.pages.life import picture_of
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.pages.run import known, pretty
from counterfoil.console.signed_in import AtDesk, count_answer

LINKS = {"answer": "/reviews/rev-{review}", "close_incident": "/incidents", "cancel_run": "/runs/run-{run}#four"}
WAYS = {
    "resolve_succeeded": "succeeded", "resolve_failed": "failed", "send_again_same": "send-again",
    "send_again_new": "send-again-new", "refuse": "failed", "allow": "send-again",
}  # fmt: skip


def routes() -> APIRouter:
    """`/operations/{operation}`, and asking its receiver."""
    router = APIRouter()

    @router.get("/operations/{operation}")
    def show(request: Request, operation: str, at: AtDesk) -> Response:
        newest = newest_around(at, at.operations.show(operation)["run_id"])
        shown = at.operations.show(operation)
        evidence = at.evidence.operation(operation)
        run = run_around(at, shown["run_id"])
        actions = at.evidence.actions(operation)["items"]
        return page(
            request, "operation/operation.html", desk=at, operation=shown, run=run, evidence=evidence, pretty=pretty,
            life=picture_of(evidence["life"]), actions=[_with_place(action, shown, run) for action in actions],
            newest=newest,
        )  # fmt: skip

    @router.post("/operations/{operation}/lookup")
    async def lookup(request: Request, operation: str, at: AtDesk) -> Response:
        count_answer(request, at.actor)
        shown = await at.operations.lookup(operation)
        newest = at.evidence.operation(operation)["asked"][0]
        where = address(request, f"/operations/op-{shown['number']}") + "#asked"
        tone = "good" if newest["result"] == "match" else "calm"
        return done(request, where, f"The receiver was asked. {newest['sentence']}", tone)

    return router


def _with_place(action: dict[str, Any], operation: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Where the button of an action leads. `post`: it acts at once."""
    number = operation["number"]
    if action["action"] == "lookup":
        return action | {"place": f"/operations/op-{number}/lookup", "post": True}
    if action["action"] in WAYS:
        return action | {"place": f"/operations/op-{number}/resolve?way={WAYS[action['action']]}", "post": False}
    approval: dict[str, Any] = operation["approval"] or {"number": 0}
    if action["action"] == "withdraw":
        return action | {"place": f"/reviews/rev-{approval.get('number')}#withdraw", "post": False}
    open_review = next(
        (r["number"] for r in known(run["records"]["approvals"]) if r["state"] == "open"), approval.get("number")
    )
    place = LINKS[action["action"]].format(review=open_review, run=run["number"])
    return action | {"place": place, "post": False}
