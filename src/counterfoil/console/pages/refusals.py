"""A refusal as a page: what happened, and what is safe to do next."""

from contextlib import suppress
from typing import Any

from fastapi import Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.model.errors import CounterfoilError

TITLES = {
    401: "Sign in first",
    403: "This is not yours to do",
    404: "Nothing here that you may see",
    405: "This address answers to something else",
    408: "Too slow",
    409: "Refused",
    413: "Too large",
    422: "That does not fit",
    429: "Too many tries",
    500: "A defect of ours",
    501: "Something is missing here",
    503: "The database does not answer",
}


def error_page(request: Request, error: CounterfoilError, status: int) -> Response:
    """Set as `app.state.error_page`. Who is signed in keeps the navigation; a page that cannot be made is made plainer."""
    at: Any = getattr(request.state, "desk", None)  # console.errors seats whoever is signed in
    with suppress(Exception):  # the frame must not fail on what failed the page
        at.me()
    where = request.headers.get("Referer") if request.method == "POST" else None
    return page(
        request, "refused.html", desk=at, status=status, error=error, status_code=status,
        heading=TITLES.get(status, "Refused"), back_address=where if where and _ours(request, where) else None,
    )  # fmt: skip


def _ours(request: Request, where: str) -> bool:
    return where.startswith(f"{request.url.scheme}://{request.url.netloc}/")
