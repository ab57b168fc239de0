"""Who did what, and the metrics, over HTTP."""

from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from counterfoil.app.audit import AuditFilter, Format
from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.records import ActDone, History, Metric
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk
from counterfoil.console.state import console_of

router = router_of("records")

HOUR_US = 3600 * 1_000_000
Person = Annotated[str | None, Query(max_length=200)]
Kind = Annotated[str | None, Query(max_length=40, description="A kind of entry that people cause.")]
Day = Annotated[str | None, Query(max_length=10, description="YYYY-MM-DD in UTC.")]
MEDIA = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}

_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Line by line.",
        "content": {"application/jsonl": {"schema": {"type": "string"}}, "text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get("/audit", responses=gives(Answer[Page[ActDone]]))
def list_acts(
    at: AtDesk, person: Person = None, verb: Kind = None, day: Day = None, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List who did what, the newest first."""
    page = at.audit.list(AuditFilter(person, verb, day), cursor=opened("audit", cursor), limit=limit)
    return answer("audit list", opaque("audit", page))


@router.get("/audit/export", responses=_EXPORT, response_class=StreamingResponse)
def export_acts(
    at: AtDesk,
    person: Person = None,
    verb: Kind = None,
    day: Day = None,
    as_: Annotated[Format, Query(alias="as")] = "jsonl",
) -> Response:
    """All of it as JSON lines or CSV."""
    lines = at.audit.export(AuditFilter(person, verb, day), as_=as_)
    return StreamingResponse(lines, media_type=MEDIA[as_])


@router.get("/metrics", responses=gives(Answer[Page[Metric]]))
def list_metrics(at: AtDesk) -> Response:
    """List every metric: its definition, what it does not count, and what it is now."""
    return answer("metrics", at.metrics.list())


@router.get("/metrics/{name}/history", responses=gives(Answer[History]))
def show_history(
    request: Request, at: AtDesk, name: Which, hours: Annotated[int, Query(ge=1, le=24 * 7)] = 24
) -> Response:
    """Show one metric over the last hours."""
    since = console_of(request).app.clock.now_us() - hours * HOUR_US
    return answer("metrics history", at.metrics.history(name, since))
