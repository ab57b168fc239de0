"""Metrics: what each is now, what it was over the last day or week, and what it does not count."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.pages.charts import DAY, HEIGHT, WEEK, WIDTH, chart, figure, label_of, measured
from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk
from counterfoil.console.state import console_of

SPANS = {"day": DAY, "week": WEEK}
MICROSECONDS = 1_000_000
# What an operator asks first stands first; the others follow as the catalogue has them.
FIRST = (
    "operations_unresolved",
    "operations_unresolved_oldest_seconds",
    "reviews_open",
    "review_age_seconds",
    "runs_parked",
)


def routes() -> APIRouter:
    """`/charts`. (`/metrics` is for Prometheus.)"""
    router = APIRouter()

    @router.get("/charts")
    def charts(request: Request, at: AtDesk, span: str = "day") -> Response:
        length = SPANS.get(span, DAY)
        now_us = console_of(request).app.open().clock.now_us()
        now = datetime.fromtimestamp(now_us / MICROSECONDS, UTC)
        since = now_us - int(length.total_seconds()) * MICROSECONDS
        items = [_drawn(at, metric, since, now, length) for metric in at.metrics.list()["items"]]
        items.sort(key=lambda item: FIRST.index(item["short"]) if item["short"] in FIRST else len(FIRST))
        return page(
            request, "charts.html", desk=at, items=items, span=span if span in SPANS else "day", width=WIDTH,
            height=HEIGHT,
        )  # fmt: skip

    return router


def _drawn(at: Any, metric: dict[str, Any], since: int, now: datetime, length: Any) -> dict[str, Any]:
    sampled = metric["of"] == "installation" and metric["kind"] != "histogram"
    drawn = chart(at.metrics.history(metric["name"], since), now, length) if sampled else None
    return metric | {
        "short": metric["name"].removeprefix("counterfoil_"), "chart": drawn,
        "moved": any(value["value"] for value in metric["values"]),
        "now": _now(metric) if at.sight.sees_installation() else "not shown to you",
        "shown": [(label_of(value["labels"]), _said(value, metric["unit"])) for value in metric["values"]],
    }  # fmt: skip


def _now(metric: dict[str, Any]) -> str:
    """The metric in one number: ages by their oldest, all others by their sum."""
    values = [value["value"] for value in metric["values"] if value["value"] is not None]
    if metric["kind"] == "histogram":
        return figure(sum(value["histogram"]["count"] for value in metric["values"])) + " measured"
    if not values:
        return "0"
    if metric["unit"] == "seconds" and metric["kind"] == "gauge":
        return measured(max(values), "seconds")
    return figure(sum(values))


def _said(value: dict[str, Any], unit: str) -> str:
    histogram = value["histogram"]
    if histogram is None:
        return measured(value["value"], unit)
    if not histogram["count"]:
        return "none"
    return f"{figure(histogram['count'])}, mean {measured(histogram['sum'] / histogram['count'], unit)}"
