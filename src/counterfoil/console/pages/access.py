"""Access: who one is here, one's tokens, and for administrators people, roles and what each may do."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.lists import LEDGER, any_of, workflows_of
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.access import Act, RecordKind
from counterfoil.model.errors import Refused

Text = Annotated[str, Form()]
# As docs/access.md has them.
BUILT_IN = {
    "admin": "everything but answer; what a review asks of it, too",
    "operator": "everything but answer and administer; what a review asks of it, too",
    "auditor": "reads everything and exports the audit; acts on nothing",
}
LIFETIMES = [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year")]


def routes() -> APIRouter:
    """`/access`, and below it tokens, people and grants."""
    router = APIRouter()
    _tokens(router)
    _people(router)
    _grants(router)

    @router.get("/access")
    def access(request: Request, at: AtDesk) -> Response:
        return _shown(request, at)

    return router


def _tokens(router: APIRouter) -> None:
    @router.post("/access/tokens")
    async def create(
        request: Request,
        at: AtDesk,
        name: Text = "",
        days: Text = "30",
        verb: Annotated[list[str] | None, Form()] = None,
    ) -> Response:
        count_answer(request, at.actor)
        if not days.isdecimal() or len(days) > 4:
            raise Refused("usage", problem="say for how many days the token is good")
        made = await at.access.tokens.create(
            name=name.strip(), expires_in=timedelta(days=int(days)), verbs=[each for each in verb or () if each] or None
        )
        # Shown in this answer and nowhere else: not in an address, a cookie or a log.
        return _shown(request, at, made)

    @router.post("/access/tokens/revoke")
    async def revoke(request: Request, at: AtDesk, token: Text = "") -> Response:
        revoked = await at.access.tokens.revoke(token)
        return done(request, address(request, "/access"), f"The token {revoked['name']} is good for nothing any more.")


def _people(router: APIRouter) -> None:
    @router.post("/access/people")
    async def add(  # the fields of one form
        request: Request, at: AtDesk, name: Text = "", roles: Text = "", secret: Text = "", stand_in_for: Text = ""
    ) -> Response:
        count_answer(request, at.actor)
        await at.people.add(
            name.strip(),
            roles=roles.replace(",", " ").split(),
            secret=secret,
            stand_in_for=stand_in_for.strip() or None,
        )
        return done(request, address(request, "/access"), f"{name.strip()} may sign in now.")

    @router.post("/access/people/revoke")
    async def revoke(request: Request, at: AtDesk, name: Text = "", sure: Text = "") -> Response:
        if sure != "yes":
            raise Refused("usage", problem="tick the box that says what this does")
        await at.people.revoke(name)
        return done(request, address(request, "/access"), f"{name} decides nothing any more.")


def _grants(router: APIRouter) -> None:
    @router.post("/access/grants")
    async def grant(
        request: Request, at: AtDesk, role: Text = "", verb: Text = "", workflow: Text = "", operation: Text = "",
        kind: Text = "", up_to: Text = "",
    ) -> Response:  # fmt: skip
        minor, currency = amount_of(up_to)
        await at.access.grants.grant(
            role.strip(), verb, workflow=workflow.strip() or None, operation=operation.strip() or None, kind=kind or None,
            up_to_minor=minor, currency=currency,
        )  # fmt: skip
        return done(request, address(request, "/access") + "#roles", f"{role.strip()} may {verb} now.")

    @router.post("/access/grants/withdraw")
    async def withdraw(request: Request, at: AtDesk, grant: Text = "") -> Response:
        gone = await at.access.grants.withdraw(grant)
        where = address(request, "/access") + "#roles"
        return done(request, where, f"{gone['role']} may no longer {gone['verb']} by that grant.")


def amount_of(text: str) -> tuple[int | None, str | None]:
    """`50000 EUR` in the currency's smallest unit. Raises Refused(usage)."""
    parts = text.split()
    if not parts:
        return None, None
    if len(parts) != 2 or not parts[0].isdecimal() or len(parts[0]) > 15:
        raise Refused("usage", problem="an amount is written in the smallest unit, with its currency: 50000 EUR")
    return int(parts[0]), parts[1].upper()


def _shown(request: Request, at: Desk, made: dict[str, Any] | None = None) -> Response:
    me = at.me()
    administers = Act.ADMINISTER.value in me["acts"]
    return page(
        request, "access.html", desk=at, who=me, made=made, tokens=at.access.tokens.list()["items"],
        people=at.people.list()["items"], administers=administers, lifetimes=LIFETIMES,
        roles=at.access.grants.list()["items"] if administers else [], verbs=any_of(Act)[1:], kinds=any_of(RecordKind),
        workflows=[each for each in workflows_of(request, at) if each[0] != LEDGER], built_in_roles=BUILT_IN,
    )  # fmt: skip
