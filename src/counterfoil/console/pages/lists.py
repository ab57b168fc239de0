"""Runs, operations, reviews and incidents as lists. The filters stand in the address, so an address is a view."""

from enum import StrEnum

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.pages.rendering import page, pages_of
from counterfoil.console.pages.words import words
from counterfoil.console.signed_in import AtDesk
from counterfoil.console.state import console_of
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import ParkReason, RunState

_BY_RECEIVER = frozenset({Act.SUSPEND_WRITES, Act.RESUME_WRITES, Act.IMPORT_STATEMENT})
Options = list[tuple[str, str]]
LIMIT = 50
LEDGER = "ledger"  # the built-in workflow; it is offered only where it has runs of its own


def routes() -> APIRouter:
    """`/runs`, `/operations`, `/reviews`, `/incidents`."""
    router = APIRouter()

    @router.get("/runs")
    def runs(
        request: Request, at: AtDesk, state: str = "", workflow: str = "", reason: str = "", cursor: str = ""
    ) -> Response:
        listed = at.runs.list(
            state=state or None, workflow=workflow or None, reason=reason or None, cursor=cursor_of(cursor), limit=LIMIT
        )
        return page(
            request, "lists/runs.html", desk=at, items=listed["items"], pages=pages_of(request, listed),
            set={"state": state, "workflow": workflow, "reason": reason},
            states=any_of(RunState), reasons=any_of(ParkReason), workflows=workflows_of(request, at),
        )  # fmt: skip

    @router.get("/operations")
    def operations(request: Request, at: AtDesk, status: str = "", receiver: str = "", cursor: str = "") -> Response:
        listed = at.operations.list(
            status=status or None, receiver=receiver or None, cursor=cursor_of(cursor), limit=LIMIT
        )
        return page(
            request, "lists/operations.html", desk=at, items=listed["items"], pages=pages_of(request, listed),
            set={"status": status, "receiver": receiver}, statuses=any_of(OperationStatus),
            receivers=receivers_of(request, at),
        )  # fmt: skip

    @router.get("/reviews")
    def reviews(request: Request, at: AtDesk, state: str = "", cursor: str = "") -> Response:
        listed = at.reviews.list(state=state or None, cursor=cursor_of(cursor), limit=LIMIT)
        return page(
            request, "lists/reviews.html", desk=at, items=listed["items"], pages=pages_of(request, listed),
            set={"state": state}, states=any_of(ReviewState),
        )  # fmt: skip

    @router.get("/incidents")
    def incidents(request: Request, at: AtDesk, open: str = "", cursor: str = "") -> Response:
        listed = at.incidents.list(open_only=open == "yes", cursor=cursor_of(cursor), limit=LIMIT)
        return page(
            request, "lists/incidents.html", desk=at, items=listed["items"], pages=pages_of(request, listed),
            set={"open": open},
        )  # fmt: skip

    return router


def any_of(kind: type[StrEnum]) -> Options:
    """The choices of a filter, the first of which filters nothing."""
    return [("", "any"), *((member.value, words(member.value)) for member in kind)]


def workflows_of(request: Request, at: Desk) -> Options:
    """The workflows that the code at hand names, as far as the person sees their runs."""
    seen = at.me()["workflows"]
    names = {workflow.name for workflow in console_of(request).app.registry.workflows.values()}
    found = sorted(name for name in names - {LEDGER} if seen is None or name in seen)
    alone = [(LEDGER, "alone (ledger)")] if seen is None or LEDGER in seen else []
    return [("", "any"), *((name, name) for name in found), *alone]


def receivers_of(request: Request, at: Desk) -> Options:
    """The receivers that the code at hand names: for who sees every run, and for who acts on one by its name."""
    shown = at.sight.sees_installation() or bool(_BY_RECEIVER & {*at.me()["acts"]})
    names = sorted(console_of(request).app.registry.receivers) if shown else []
    return [("", "any"), *((name, name) for name in names)]


def cursor_of(text: str) -> int | None:
    """Where a page of a list begins. Raises Refused(usage)."""
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise Refused("usage", problem="the cursor in the address is not one that a list gave")
    return int(text)
