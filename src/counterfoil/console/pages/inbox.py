"""The inbox: everything that needs a person, and what people do with it short of deciding it."""

from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.inbox_view import COOKIE, View, filters_only, kept_views, with_view, without_view
from counterfoil.console.pages.lists import receivers_of, workflows_of
from counterfoil.console.pages.rendering import done, page, pages_of
from counterfoil.console.signed_in import AtDesk
from counterfoil.model.errors import Refused

A_FEW = 8  # of each reason, as long as no reason is chosen
MANY = 50
YEAR_SECONDS = 365 * 24 * 3600
SPANS = [("30m", "30 minutes"), ("1h", "1 hour"), ("4h", "4 hours"), ("1d", "1 day"), ("3d", "3 days")]
PREFIXES = {"review": "rev", "incident": "inc"}
Text = Annotated[str, Form()]


def routes() -> APIRouter:
    """`/inbox`, and one address for each thing that is done with an item."""
    router = APIRouter()
    _tending(router)

    @router.get("/inbox")
    def inbox(request: Request, at: AtDesk, cursor: str = "") -> Response:
        view, me = View.of(request), at.me()
        wanted = view.wanted(me["name"])
        counts = at.inbox.counts(wanted)
        groups: list[dict[str, Any]] = []
        listed: dict[str, Any] = {"next_cursor": None}
        if "reason" in view.given or "snoozed" in view.given:
            listed = at.inbox.list(wanted, cursor=cursor or None, limit=MANY)
            groups = _by_reason(listed["items"], counts)
        else:
            groups = _groups(at, view, me["name"], counts)
        return page(
            request, "inbox.html", desk=at, counts=counts, groups=groups, pages=pages_of(request, listed), view=view,
            kept=kept_views(request), workflows=workflows_of(request, at), receivers=receivers_of(request, at),
            owners=_owners(at), people=_people(at), spans=SPANS, item_path=item_path,
            waiting=None if view.given else counts["total"],
        )  # fmt: skip

    @router.post("/inbox/views")
    def keep(request: Request, at: AtDesk, name: Text = "", query: Text = "", forget: Text = "") -> Response:
        del at
        name = " ".join(name.split())
        if not name:
            raise Refused("usage", problem="a view is kept under a name")
        views = kept_views(request)
        value = without_view(views, name) if forget else with_view(views, name, query)
        response = RedirectResponse(address(request, "/inbox") + ("" if forget else filters_only(query)), 303)
        response.set_cookie(
            COOKIE, value, max_age=YEAR_SECONDS, path=address(request, "/"), httponly=True, samesite="lax"
        )
        return response

    return router


def _tending(router: APIRouter) -> None:
    @router.post("/inbox/take")
    async def take(request: Request, at: AtDesk, subject: Text = "", back: Text = "") -> Response:
        return await _tended(request, back, at.inbox.take(subject), "Yours: {}.")

    @router.post("/inbox/let-go")
    async def let_go(request: Request, at: AtDesk, subject: Text = "", back: Text = "", snooze: Text = "") -> Response:
        said = "{} is back in the inbox." if snooze else "Nobody has {} now."
        return await _tended(request, back, at.inbox.let_go(subject, snooze=bool(snooze)), said)

    @router.post("/inbox/hand-over")
    async def hand_over(request: Request, at: AtDesk, subject: Text = "", to: Text = "", back: Text = "") -> Response:
        return await _tended(
            request, back, at.inbox.hand_over(subject, to=to.strip()), f"{{}} is with {to.strip()} now."
        )

    @router.post("/inbox/comment")
    async def comment(request: Request, at: AtDesk, subject: Text = "", text: Text = "", back: Text = "") -> Response:
        return await _tended(request, back, at.inbox.comment(subject, text=text), "Your comment stands with {}.")

    @router.post("/inbox/snooze")
    async def snooze(
        request: Request, at: AtDesk, subject: Text = "", until: Text = "", reason: Text = "", back: Text = ""
    ) -> Response:
        return await _tended(request, back, at.inbox.snooze(subject, until=until, reason=reason), "{} is put off.")


def item_path(item: dict[str, Any]) -> str:
    """Where an item is decided."""
    if item["kind"] == "review":
        return f"/reviews/{item['subject']}"
    if item["kind"] == "incident":
        return f"/incidents/inc-{item['number']}"
    if item["operation_number"] is not None and item["next_action"]["code"] == "resolve":
        return f"/operations/op-{item['operation_number']}"
    return f"/runs/run-{item['run_number']}"


def _groups(at: Desk, view: View, me: str, counts: dict[str, Any]) -> list[dict[str, Any]]:
    """A few of each reason; the group whose first deadline comes first stands first."""
    found: list[dict[str, Any]] = []
    for reason in counts["reasons"]:
        wanted = View(view.given | {"reason": reason["reason"]}).wanted(me)
        items = at.inbox.list(wanted, limit=A_FEW)["items"]
        if items:
            found.append(reason | {"items": items, "more": max(0, reason["count"] - len(items))})
    return sorted(found, key=lambda group: group["items"][0]["deadline_at"])


def _by_reason(items: list[dict[str, Any]], counts: dict[str, Any]) -> list[dict[str, Any]]:
    """The things of one page, in their order; what was put off is not among the counts."""
    known = {each["reason"]: each["count"] for each in counts["reasons"]}
    found: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        found.setdefault(item["reason"], []).append(item)
    return [
        {"reason": reason, "count": max(known.get(reason, 0), len(these)), "overdue": 0, "items": these, "more": 0}
        for reason, these in found.items()
    ]


def _owners(at: Desk) -> list[tuple[str, str]]:
    """Whom a thing may be with: the roles that somebody holds, and the people."""
    people = _people(at)
    roles = sorted({role for person in people for role in person["roles"]})
    names = sorted(person["name"] for person in people)
    return [("", "anybody"), *((role, role) for role in roles), *((name, name) for name in names if name not in roles)]


def _people(at: Desk) -> list[dict[str, Any]]:
    return [person for person in at.people.list()["items"] if person["revoked_at"] is None]


async def _tended(request: Request, back: str, act: Awaitable[dict[str, Any]], said: str) -> Response:
    item = await act
    return done(request, back or address(request, "/inbox"), said.replace("{}", name_of(item)))


def name_of(item: dict[str, Any]) -> str:
    """What people call it: rev-3, inc-1 or run-7."""
    return f"{PREFIXES.get(item['kind'], 'run')}-{item['number']}"
