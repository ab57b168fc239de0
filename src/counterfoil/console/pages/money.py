"""Money: what a day came to, and a provider's statement held against the record, looked at before anything is imported."""

from base64 import b64decode, b64encode
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.responses import Response

from counterfoil.console.pages.lists import receivers_of
from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused
from counterfoil.rules.statement_lines import Reading

# A statement up to this size comes back with its preview, so that what was seen is what is imported; a larger one is chosen again.
KEPT_BYTES = 1 << 20
COLUMNS = ("reference", "amount", "currency", "at")
DIFFERENCES = (
    ("not_resolved", "Could not be resolved", "The line is ours, but the record did not take it."),
    ("mismatch", "Ours, with something else", "The line contradicts what we hold. An incident says so."),
    ("several", "More than one fits", "Nothing is guessed: these stay as they are."),
    ("theirs_not_ours", "Theirs, not ours", "The provider names it, and the record does not know it."),
)
ASKED = ("receiver", "columns", "currency", "minor", "negative", "hours")


def routes() -> APIRouter:
    """`/money` and `/money/import`."""
    router = APIRouter()

    @router.get("/money")
    def money(request: Request, at: AtDesk, day: str = "", zone: str = "UTC") -> Response:
        report = at.money.report(day=day or None, zone=zone or "UTC")
        return page(
            request, "money.html", desk=at, report=report, sums=sums_of(report["items"]),
            imports=at.money.imports()["items"], receivers=receivers_of(request, at)[1:],
            may_import="import_statement" in at.me()["acts"],
        )  # fmt: skip

    @router.post("/money/import")
    async def read(request: Request, at: AtDesk) -> Response:
        count_answer(request, at.actor)
        form = await request.form()
        asked = {name: str(form.get(name, "")).strip() for name in ASKED}
        content, name = await _content(form.get("file"), str(form.get("kept", "")), str(form.get("name", "")))
        result = await at.money.reconcile(
            content, name=name, receiver=asked["receiver"], reading=reading_of(asked),
            within=_hours(asked["hours"] or "24"), dry_run=form.get("act") != "import",
        )  # fmt: skip
        again = b64encode(content).decode() if len(content) <= KEPT_BYTES else ""
        return page(
            request,
            "statement.html",
            desk=at,
            result=result,
            asked=asked,
            kept=again,
            name=name,
            differences=DIFFERENCES,
        )

    return router


def sums_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The report's sums by currency, over all receivers."""
    found: dict[str | None, dict[str, Any]] = {}
    for item in items:
        known = found.setdefault(item["currency"], {"currency": item["currency"]})
        for kind in ("approved", "succeeded", "failed", "unknown"):
            old = known.setdefault(kind, {"count": 0, "minor": None})
            new = item[kind]
            minor = None if new["minor"] is None else (old["minor"] or 0) + new["minor"]
            known[kind] = {"count": old["count"] + new["count"], "minor": minor}
    return sorted(found.values(), key=lambda each: each["currency"] or "")


def reading_of(asked: dict[str, str]) -> Reading:
    """How the form says that the file is to be read."""
    return Reading(
        columns=columns_of(asked["columns"]), minor=bool(asked["minor"]), currency=asked["currency"].upper() or None,
        negative=bool(asked["negative"]),
    )  # fmt: skip


def columns_of(text: str) -> dict[str, str]:
    """`reference=Charge amount=Net`: our name, then the file's. Raises Refused(usage)."""
    found: dict[str, str] = {}
    for part in text.split():
        ours, _, theirs = part.partition("=")
        if ours not in COLUMNS or not theirs:
            raise Refused(
                "usage", problem=f"{part!r} does not name a column; write {COLUMNS[0]}=THEIRS, for {', '.join(COLUMNS)}"
            )
        found[ours] = theirs
    return found


def _hours(text: str) -> timedelta:
    if not text.isdecimal() or len(text) > 4:
        raise Refused("usage", problem="say in hours how long after the first send a line may come")
    return timedelta(hours=int(text))


async def _content(file: object, kept: str, name: str) -> tuple[bytes, str]:
    if isinstance(file, UploadFile) and file.filename:
        return await file.read(), file.filename[:200]
    try:
        content = b64decode(kept, validate=True)
    except ValueError as problem:
        raise Refused("usage", problem="the statement came back broken; choose the file again") from problem
    if not content:
        raise Refused("usage", problem="choose the provider's file")
    return content, name[:200] or "statement"
