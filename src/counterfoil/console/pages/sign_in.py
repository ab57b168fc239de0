"""Signing in with a name and its secret, signing out, and choosing a person in development mode."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from counterfoil.app.access.sessions import LIFETIME
from counterfoil.console.addresses import address, safe_next
from counterfoil.console.cookies import drop_session, session_value, set_session
from counterfoil.console.errors import status_of
from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import address_of
from counterfoil.console.state import Console, console_of
from counterfoil.model.errors import Refused

Text = Annotated[str, Form()]
Next = Annotated[str, Form(alias="next")]


def routes() -> APIRouter:
    """`/sign-in`, `/sign-in/development`, `/sign-out`."""
    router = APIRouter()

    @router.get("/sign-in")
    def form(request: Request) -> Response:
        return _form(request, request.query_params.get("next", ""))

    @router.post("/sign-in")
    async def sign_in(request: Request, name: Text = "", secret: Text = "", then: Next = "") -> Response:
        console = console_of(request)
        person = name.strip()
        try:
            console.limits.sign_in(person, address_of(request))
            actor = await run_in_threadpool(console.app.access.by_secret, person, secret)
        except Refused as refused:
            return _form(request, then, refused, person)
        response = RedirectResponse(safe_next(request, then), 303)
        value = await console.app.access.begin(actor)
        set_session(request, response, value, LIFETIME // timedelta(seconds=1))
        return response

    @router.post("/sign-in/development")
    def choose(request: Request, name: Text = "", then: Next = "") -> Response:
        console = console_of(request)
        if not console.development:
            raise Refused("not_found", what="address", id=request.url.path)
        try:
            console.person = console.app.access.in_development(name).person
        except Refused as refused:
            return _form(request, then, refused)
        return RedirectResponse(safe_next(request, then), 303)

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        console = console_of(request)
        value = session_value(request)
        if value:
            await console.app.access.end(value)
        elif console.development:
            console.person = None
        response = RedirectResponse(address(request, "/sign-in"), 303)
        drop_session(request, response)
        return response

    return router


def _form(request: Request, then: str, problem: Refused | None = None, name: str = "") -> Response:
    console = console_of(request)
    return page(
        request, "sign_in.html", status=200 if problem is None else status_of(problem), then=then, problem=problem,
        name=name, people=_people(console), provider=_provider(console),
    )  # fmt: skip


def _people(console: Console) -> list[str]:
    """Who may be chosen without a secret: only in development mode."""
    if not console.development:
        return []
    return [person["name"] for person in console.app.people.list()["items"] if person["revoked_at"] is None]


def _provider(console: Console) -> str | None:
    """The name of the OpenID Connect provider, where one is configured."""
    return getattr(console, "provider_name", None)
