"""The first page, the search, the colours and the list of shortcuts."""

from typing import Any

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from counterfoil.console.addresses import address, safe_next
from counterfoil.console.pages.rendering import THEME, THEMES, page
from counterfoil.console.signed_in import AtDesk

YEAR_SECONDS = 365 * 24 * 3600
PATHS = {
    "run": "/runs/", "operation": "/operations/", "review": "/reviews/", "incident": "/incidents/",
    "conversation": "/conversations/", "document": "/documents/",
}  # fmt: skip


def routes() -> APIRouter:
    """`/`, `/find`, `/shortcuts`, `/theme`."""
    router = APIRouter()

    @router.get("/")
    def home(request: Request) -> Response:
        return RedirectResponse(address(request, "/inbox"), 303)

    @router.get("/find")
    def find(request: Request, at: AtDesk, q: str = "") -> Response:
        text = q.strip()
        found: list[dict[str, Any]] = at.find(text)["items"] if text else []
        items = [hit | {"path": path_of(hit)} for hit in found]
        paths = {hit["path"] for hit in items}
        if len(paths) == 1 and not request.headers.get("HX-Request"):
            return RedirectResponse(address(request, paths.pop()), 303)
        return page(request, "find.html", desk=at, items=items, found_text=text)

    @router.get("/shortcuts")
    def shortcuts(request: Request, at: AtDesk) -> Response:
        return page(request, "shortcuts.html", desk=at)

    @router.post("/theme")
    def theme(request: Request, theme: str = Form("auto"), back: str = Form("")) -> Response:
        response = RedirectResponse(safe_next(request, back), 303)
        chosen = theme if theme in THEMES else "auto"
        response.set_cookie(
            THEME, chosen, max_age=YEAR_SECONDS, path=address(request, "/"), samesite="lax", httponly=True
        )
        return response

    return router


def path_of(hit: dict[str, Any]) -> str:
    """Where a thing that was found is shown."""
    if hit["kind"] in PATHS:
        return PATHS[hit["kind"]] + hit["id"]
    if hit["kind"] == "receipt":
        return f"/runs/{hit['run_id']}"
    if hit["kind"] == "person":
        return f"/audit?person={hit['id']}"
    return f"/runs/{hit['run_id']}" if hit.get("run_id") else "/inbox"
