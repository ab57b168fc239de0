"""Signing in with a secret, a personal token, or at an OpenID Connect provider, signing out, and choosing a person in development mode."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from counterfoil.app.access import Actor
from counterfoil.app.access.sessions import LIFETIME
from counterfoil.console.addresses import address, own_origin, safe_next
from counterfoil.console.cookies import drop_session, is_secure, kept_json, kept_text, session_value, set_session
from counterfoil.console.errors import status_of
from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import address_of
from counterfoil.console.state import Console, console_of
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app.access.provider import Provider

KEPT = "counterfoil-provider"
PATIENCE_SECONDS = 600
Text = Annotated[str, Form()]
Next = Annotated[str, Form(alias="next")]


def routes() -> APIRouter:
    """`/sign-in`, `/sign-in/token`, `/sign-in/provider`, `/sign-in/answer`, `/sign-in/development`, `/sign-out`."""
    router = APIRouter()
    _at_provider(router)
    _by_token(router)

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
        return await _begun(request, actor, then)

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


def _by_token(router: APIRouter) -> None:
    @router.post("/sign-in/token")
    async def with_token(request: Request, token: Text = "", then: Next = "") -> Response:
        """The session may what the token may, and ends with it."""
        console = console_of(request)
        try:
            console.limits.sign_in_from(address_of(request))
            actor = console.app.access.by_token(token.strip())
        except Refused as refused:
            return _form(request, then, refused)
        return await _begun(request, actor, then)


def _at_provider(router: APIRouter) -> None:
    @router.get("/sign-in/provider")
    async def leave(request: Request) -> Response:
        """To the provider. What the answer is held against stays in a cookie of this browser."""
        then = request.query_params.get("next", "")
        try:
            console_of(request).limits.sign_in_from(address_of(request))
            asked = await _provider(request).begin(_answer_address(request))
        except Refused as refused:
            return _form(request, then, refused)
        response = RedirectResponse(asked.url, 303)
        kept = kept_text([asked.kept, then])
        response.set_cookie(
            KEPT, kept, max_age=PATIENCE_SECONDS, path=address(request, "/sign-in"), httponly=True, samesite="lax",
            secure=is_secure(request),
        )  # fmt: skip
        return response

    @router.get("/sign-in/answer")
    async def come_back(request: Request) -> Response:
        kept, then = _kept(request)
        try:
            console_of(request).limits.sign_in_from(address_of(request))
            actor = await _provider(request).finish(kept, dict(request.query_params))
        except Refused as refused:
            response = _form(request, then, refused)
        else:
            response = await _begun(request, actor, then)
        response.delete_cookie(KEPT, path=address(request, "/sign-in"), httponly=True, samesite="lax")
        return response


async def _begun(request: Request, actor: Actor, then: str) -> Response:
    """A new session. The one that this browser had is over: its cookie is replaced, so nobody could sign out of it any more."""
    response = RedirectResponse(safe_next(request, then), 303)
    access, before = console_of(request).app.access, session_value(request)
    value = await access.begin(actor)
    if before:
        await access.end(before)
    set_session(request, response, value, LIFETIME // timedelta(seconds=1))
    return response


def _provider(request: Request) -> "Provider":
    provider = console_of(request).app.access.provider()
    if provider is None:
        raise Refused("not_found", what="address", id=request.url.path)
    return provider


def _answer_address(request: Request) -> str:
    """Where the provider sends the browser back to, as the browser names this console."""
    return own_origin(request) + address(request, "/sign-in/answer")


def _kept(request: Request) -> tuple[str, str]:
    match kept_json(request, KEPT):
        case [str(kept), str(then)]:
            return kept, then
        case _:
            return "", ""


def _form(request: Request, then: str, problem: Refused | None = None, name: str = "") -> Response:
    console = console_of(request)
    return page(
        request, "sign_in.html", status=200 if problem is None else status_of(problem), then=then, problem=problem,
        name=name, people=_people(console), provider=_provider_host(console),
    )  # fmt: skip


def _people(console: Console) -> list[str]:
    """Who may be chosen without a secret: only in development mode."""
    if not console.development:
        return []
    return [person["name"] for person in console.app.people.list()["items"] if person["revoked_at"] is None]


def _provider_host(console: Console) -> str | None:
    """Where people are known, if an OpenID Connect provider is configured."""
    provider = console.app.access.provider()
    return None if provider is None else urlsplit(provider.settings.issuer).netloc
