"""Addresses of this console, wherever it is mounted."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import quote

from starlette.requests import HTTPConnection

# Whoever sends one of these is a proxy, or behind one.
WEBHOOKS = "/webhooks/"
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


def route_path(scope: Any) -> str:
    """The path below the place where the console is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


def logged_path(scope: Any) -> str:
    """The same for the log: without the token of a link, wherever one may stand."""
    head, answer, _ = route_path(scope).partition("/answer/")
    return head + answer


def is_api(scope: Any) -> bool:
    """Whether an answer is JSON."""
    path = route_path(scope)
    return path.startswith(("/api/", WEBHOOKS)) or path in ("/healthz", "/readyz", "/metrics")


def address(request: HTTPConnection, path: str) -> str:
    """`path` (which begins with a slash) as a link in a page of this console."""
    return str(request.scope.get("root_path", "")) + path


def own_origin(request: HTTPConnection) -> str:
    """Scheme, host and port as the browser names them."""
    return f"{request.url.scheme}://{request.url.netloc}".lower()


def sign_in_address(request: HTTPConnection) -> str:
    """Where to sign in, coming back to this page."""
    here = request.scope["path"]
    query = request.url.query
    return address(request, "/sign-in") + "?next=" + quote(here + (f"?{query}" if query else ""), safe="")


def safe_next(request: HTTPConnection, asked: str | None) -> str:
    """Where a sign-in comes back to: a path of this console and nothing else, whatever was asked."""
    home = address(request, "/")
    if not asked or not asked.startswith(home) or asked.startswith("//") or any(c in asked for c in "\\\r\n\t"):
        return home
    return asked


def is_loopback(host: str | None) -> bool:
    """Whether a name or address means this machine only."""
    if host is None:
        return False
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local(request: HTTPConnection) -> bool:
    """From this machine by its own address: what a proxy here passes on for others does not count."""
    if any(request.headers.get(name) for name in FORWARDED):
        return False
    here = request.client is not None and is_loopback(request.client.host)
    return here and is_loopback(request.url.hostname)
