"""What every request and answer goes through: where it comes from, how long it may be, and what browsers are told."""

import asyncio
from collections.abc import Iterable

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterfoil.console import patience
from counterfoil.console.addresses import WEBHOOKS, is_api, is_local, logged_path, own_origin, route_path
from counterfoil.console.cookies import session_value
from counterfoil.console.errors import defect, refused
from counterfoil.console.state import Console
from counterfoil.engine.problem_log import log
from counterfoil.model.errors import CounterfoilError, Refused

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
BODY_LIMIT = 1 << 20
UPLOAD_LIMIT = 16 << 20
_OF_A_FILE = frozenset({200, 206, 304})
UPLOADS = ("/resolve", "/import")  # evidence, and a provider's statement

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'",
        "connect-src 'self'", "manifest-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers then send `Origin: null` with our own forms, and we could not tell them from others'.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Guard:
    """The outermost layer. What it refuses reaches no route, and so writes nothing."""

    def __init__(self, app: ASGIApp, console: Console) -> None:
        self._app = app
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(scope, _logged(scope, send))
        request = Request(scope)
        try:
            check_host(request, self._console)
            check_origin(request, self._console)
            limit = _limit(scope)
            _check_length(request, limit)
        except CounterfoilError as error:
            await (await refused(request, error))(scope, receive, guarded)
            return
        begun = False

        async def begins(message: Message) -> None:
            nonlocal begun
            begun = True
            await guarded(message)

        try:
            await self._app(scope, _bounded(receive, limit), begins)
        except Exception as error:
            if begun:
                raise  # half an answer is out: the connection is closed, so that nobody takes it for a whole one
            await (await defect(request, error))(scope, receive, guarded)


def check_host(request: Request, console: Console) -> None:
    """Development mode signs in without a secret, so neither a foreign name for this address may reach it
    (rebinding) nor a proxy here (for others)."""
    if console.development and not is_local(request):
        raise Refused("foreign_request", problem="development mode answers on loopback only")


def check_origin(request: Request, console: Console) -> None:
    """An unsafe request that a browser signs by itself must come from our own pages. Raises Refused(foreign_request)."""
    if request.method in SAFE or request.headers.get("Authorization", "").lower().startswith("bearer "):
        return
    if route_path(request.scope).startswith(WEBHOOKS):
        return  # no browser signs it by itself: it is the receiver's signature that counts, and no cookie is read
    if is_api(request.scope) and session_value(request) is None and not console.development:
        return  # nobody is signed in by it; the route says so
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is None and origin is None:
        raise Refused("foreign_request", problem="neither Sec-Fetch-Site nor Origin says where it comes from")
    if site is not None and site != "same-origin":
        raise Refused("foreign_request", problem=f"Sec-Fetch-Site is {site[:40]}")
    if origin is not None and origin.lower() != own_origin(request):
        raise Refused("foreign_request", problem="the Origin is not this console's")


def _limit(scope: Scope) -> int:
    return UPLOAD_LIMIT if route_path(scope).endswith(UPLOADS) else BODY_LIMIT


def _check_length(request: Request, limit: int) -> None:
    length = request.headers.get("Content-Length", "0")
    if not length.isdecimal():
        raise Refused("usage", problem="Content-Length is no number")
    if int(length[:20]) > limit:
        raise Refused("too_large", what="The request", size=int(length[:20]), limit=limit)


def _bounded(receive: Receive, limit: int) -> Receive:
    """A body that does not say its length is counted as it comes, and all of it must come in time."""
    taken, whole = 0, False
    until: float | None = None

    async def bounded() -> Message:
        nonlocal taken, whole, until
        if whole:
            return await receive()  # only that the reader went away is still to come, and a stream may live long
        if until is None:
            until = asyncio.get_running_loop().time() + patience.BODY_SECONDS
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError as problem:
            raise Refused("too_slow", seconds=round(patience.BODY_SECONDS)) from problem
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if taken > limit:
            raise Refused("too_large", what="The request", size=taken, limit=limit)
        return message

    return bounded


def _logged(scope: Scope, send: Send) -> Send:
    """One line for each answer: without what stands behind the question mark, which may be somebody's search,
    and without a link's token."""

    async def logged(message: Message) -> None:
        if message["type"] == "http.response.start":
            path, status = logged_path(scope), int(message["status"])
            log.info("%s %s %d", scope["method"], path, status, extra={"counterfoil": {"path": path, "status": status}})
        await send(message)

    return logged


def _with_headers(scope: Scope, send: Send) -> Send:
    static = route_path(scope).startswith("/static/")
    secure = scope.get("scheme") == "https"

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            # A refusal below /static/ is a page like any other, with the name of who is signed in.
            cached = static and int(message["status"]) in _OF_A_FILE
            for name, value in _headers(cached, secure):
                headers.setdefault(name, value)
        await send(message)

    return with_headers


def _headers(cached: bool, secure: bool) -> Iterable[tuple[str, str]]:
    yield from HEADERS.items()
    if not cached:
        yield "Cache-Control", "no-store"
    if secure:
        yield "Strict-Transport-Security", "max-age=31536000"
