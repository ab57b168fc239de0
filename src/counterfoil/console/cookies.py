"""The session's cookie: not readable by scripts, not sent from elsewhere, and bound to this host where it can be."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response

from counterfoil.console.addresses import is_loopback

NAME = "counterfoil"


def cookie_name(request: HTTPConnection) -> str:
    """With a prefix that makes browsers hold what it says: `__Host-` needs https and the root path."""
    if not is_secure(request):
        return NAME
    return f"__Secure-{NAME}" if request.scope.get("root_path") else f"__Host-{NAME}"


def is_secure(request: HTTPConnection) -> bool:
    """Plain http is for loopback: elsewhere the browser is told to keep the cookie to https, and drops it without."""
    return request.url.scheme == "https" or not is_loopback(request.url.hostname)


def session_value(request: HTTPConnection) -> str | None:
    """What the browser sent."""
    return request.cookies.get(cookie_name(request))


def kept_json(request: HTTPConnection, name: str) -> Any:
    """What a cookie of ours that is no secret holds, as base64 of JSON; None for anything else that a browser may send.

    Cookies of one host are shared by all its ports, so another program may have written it: no page may fail on it.
    """
    try:
        found: Any = json.loads(urlsafe_b64decode(request.cookies.get(name, "")))
        json.dumps(found, ensure_ascii=False).encode()  # half a character could not be shown
    except (ValueError, RecursionError):
        return None
    return found


def kept_text(value: Any) -> str:
    """The same as a cookie's value."""
    return urlsafe_b64encode(json.dumps(value).encode()).decode()


def set_session(request: HTTPConnection, response: Response, value: str, seconds: int) -> None:
    """Signed in. `seconds`: how long the session may last."""
    response.set_cookie(
        cookie_name(request), value, max_age=seconds, path=str(request.scope.get("root_path") or "/"),
        secure=is_secure(request), httponly=True, samesite="lax",
    )  # fmt: skip


def drop_session(request: HTTPConnection, response: Response) -> None:
    """Signed out."""
    response.delete_cookie(
        cookie_name(request), path=str(request.scope.get("root_path") or "/"),
        secure=is_secure(request), httponly=True, samesite="lax",
    )  # fmt: skip
