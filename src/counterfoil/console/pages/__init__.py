"""The console's HTML pages. Each module has `routes() -> APIRouter`; a page renders with `rendering.page`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from counterfoil.console.pages.refusals import error_page

# In the order in which their addresses are tried.
PAGES = (
    "home",
    "streams",
    "sign_in",
    "inbox",
    "inbox_bulk",
    "run",
    "incident",
    "operation",
    "resolve",
    "review",
    "lists",
    "conversations",
    "speaking",
    "documents",
    "budgets",
    "stops",
    "receivers",
    "deliveries",
    "catalogue",
    "workers",
    "money",
    "metrics",
    "audit",
    "access",
)


def add_to(served: FastAPI) -> None:
    """All pages, the static files, and how a refusal looks."""
    served.state.error_page = error_page
    _add_files(served)
    for name in PAGES:
        if find_spec(f"{__name__}.{name}") is not None:
            router: APIRouter = import_module(f"{__name__}.{name}").routes()
            served.include_router(router, include_in_schema=False)


def _add_files(served: FastAPI) -> None:
    """The static files as a route and no mount: below a mount, a refusal would take `/static` for where the console is."""
    files = StaticFiles(directory=Path(__file__).parent.parent / "static")

    @served.api_route("/static/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def static(request: Request, path: str) -> Response:
        return await files.get_response(path, request.scope)
