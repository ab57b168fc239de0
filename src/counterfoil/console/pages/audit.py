"""Audit: who did what, when, and where it stands in the chain of digests; to be filtered and exported."""

from typing import Any, cast

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from counterfoil.app.audit import AuditFilter, Format
from counterfoil.app.views.audit import VERBS
from counterfoil.console.pages.rendering import page, pages_of, with_query
from counterfoil.console.pages.words import words
from counterfoil.console.signed_in import AtDesk

MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
MANY = 100


def routes() -> APIRouter:
    """`/audit` and `/audit/export`."""
    router = APIRouter()

    @router.get("/audit")
    def audit(
        request: Request, at: AtDesk, person: str = "", verb: str = "", day: str = "", cursor: str = ""
    ) -> Response:
        listed = at.audit.list(_wanted(person, verb, day), cursor=cursor or None, limit=MANY)
        query = with_query(request, cursor=None).partition("?")[2]
        return page(
            request, "audit.html", desk=at, items=listed["items"], pages=pages_of(request, listed),
            set={"person": person, "verb": verb, "day": day}, query=query, path=path_of,
            verbs=[("", "any"), *((each.value, words(each.value)) for each in VERBS)],
            people=[("", "anybody"), *((each["name"], each["name"]) for each in at.people.list()["items"])],
        )  # fmt: skip

    @router.get("/audit/export")
    def export(
        request: Request, at: AtDesk, as_: str = "jsonl", person: str = "", verb: str = "", day: str = ""
    ) -> Response:
        kind = request.query_params.get("as", as_)
        lines = at.audit.export(_wanted(person, verb, day), as_=cast("Format", kind))
        name = f"audit{f'-{day}' if day else ''}.{kind}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(lines, media_type=MEDIA[kind], headers=headers)

    return router


def path_of(act: dict[str, Any]) -> str | None:
    """Where what was done stands in its run; None for what belongs to the installation."""
    return f"/runs/{act['run_id']}/entries/{act['sequence']}" if act["run_id"].startswith("run_") else None


def _wanted(person: str, verb: str, day: str) -> AuditFilter:
    return AuditFilter(person.strip() or None, verb or None, day.strip() or None)
