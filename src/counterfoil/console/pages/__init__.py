"""The console's HTML pages. Each module has `routes() -> APIRouter`; a page renders with `rendering.page`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI
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
    "stops",
    "receivers",
    "workers",
    "money",
    "metrics",
    "audit",
    "access",
)


def add_to(served: FastAPI) -> None:
    """All pages, the static files, and how a refusal looks."""
    served.state.error_page = error_page
    served.mount("/static", StaticFiles(directory=Path(__file__).parent.parent / "static"), name="static")
    for name in PAGES:
        if find_spec(f"{__name__}.{name}") is not None:
            router: APIRouter = import_module(f"{__name__}.{name}").routes()
            served.include_router(router, include_in_schema=False)
