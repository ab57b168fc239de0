"""The page of one run: where it stands, the four questions, what changed since approval, and its six records, apart."""

import json
from typing import Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.app.views.headline import headline
from counterfoil.console.addresses import address
from counterfoil.console.pages.around import newest_around
from counterfoil.console.pages.rendering import done, page, with_query
from counterfoil.console.pages.waterfall import drawn, took
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

ENTRIES = 100  # on the page itself; the rest is read on, or all at once for paper
ESTABLISHED = 12
MOST_ENTRIES = 20_000


def routes() -> APIRouter:
    """`/runs/{run}`, its entries, and what may be done to it."""
    router = APIRouter()

    @router.get("/runs/{run}")
    def show(
        request: Request, run: str, at: AtDesk, begins: int | None = None, ends: int | None = None, whole: str = ""
    ) -> Response:
        newest = newest_around(at, run)
        shown = at.runs.show(run)
        timeline = at.evidence.timeline(run, begins_us=begins, ends_us=ends)
        entries = at.evidence.entries(run, limit=MOST_ENTRIES if whole else ENTRIES)
        return page(
            request, "run/run.html", desk=at, run=shown, headline=headline(shown), timeline=timeline,
            picture=drawn(timeline), took=took, zoomed=begins is not None and ends is not None,
            stretches=_stretches(request, timeline), whole_address=with_query(request, begins=None, ends=None),
            entries=entries, documents=_documents(at, run), established=_established(shown, whole), whole=bool(whole),
            acts=at.evidence.acts(run), newest=newest, numbers=_numbers(shown), turn=at.turns.place(run),
        )  # fmt: skip

    @router.get("/runs/{run}/entries")
    def entries(request: Request, run: str, at: AtDesk, cursor: int | None = None) -> Response:
        shown = at.runs.show(run)
        listed = at.evidence.entries(run, cursor=cursor, limit=ENTRIES)
        return page(
            request, "run/entries.html", desk=at, run=shown, entries=listed,
            next_address=None if listed["next_cursor"] is None else with_query(request, cursor=listed["next_cursor"]),
            first_address=None if cursor is None else with_query(request, cursor=None),
        )  # fmt: skip

    @router.get("/runs/{run}/entries/{sequence}")
    def entry(request: Request, run: str, sequence: int, at: AtDesk) -> Response:
        newest = newest_around(at, run)
        shown = at.runs.show(run)
        return page(
            request, "run/entry.html", desk=at, run=shown, entry=at.evidence.entry(run, sequence), pretty=pretty,
            newest=newest,
        )  # fmt: skip

    @router.post("/runs/{run}/resume")
    async def resume(
        request: Request, run: str, at: AtDesk, kind: str = Form(""), limit: str = Form(""), reason: str = Form("")
    ) -> Response:
        count_answer(request, at.actor)
        moved = await at.runs.resume(run, raises=_raises(kind, limit, reason), reason=reason)
        return _moved(request, moved, "goes on")

    @router.post("/runs/{run}/retry")
    async def retry(request: Request, run: str, at: AtDesk) -> Response:
        count_answer(request, at.actor)
        return _moved(request, await at.runs.retry(run), "is tried again; what is finished is kept")

    @router.post("/runs/{run}/cancel")
    async def cancel(request: Request, run: str, at: AtDesk, reason: str = Form("")) -> Response:
        count_answer(request, at.actor)
        if not reason.strip():
            raise Refused("usage", problem="cancelling names its reason")
        return _moved(request, await at.runs.cancel(run, reason=reason), "is asked to end; nothing more is sent")

    return router


def known(records: list[Any] | None) -> list[Any]:
    """Records of a kind that this person may not read are null: then there are none to go through."""
    return records or []


def pretty(value: Any) -> str:
    """JSON as people read it."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _moved(request: Request, moved: dict[str, Any], what: str) -> Response:
    name = f"run-{moved['number']}"
    return done(request, address(request, f"/runs/{name}"), f"{name} {what}.")


def _documents(at: Desk, run: str) -> list[dict[str, Any]]:
    try:
        return at.evidence.documents(run)["items"]
    except Refused:  # not readable by this person: withheld, and said so on the page
        return []


def _established(run: dict[str, Any], whole: str) -> dict[str, Any]:
    """The newest facts; the earlier ones are counted, and stand in the entries."""
    facts = run["established"]
    return {
        "items": facts if whole else facts[-ESTABLISHED:],
        "earlier": 0 if whole else max(0, len(facts) - ESTABLISHED),
    }


def _stretches(request: Request, timeline: dict[str, Any]) -> list[dict[str, Any]]:
    """Links that look closer at a stretch of work, where the whole is too long to see it."""
    whole = timeline["whole"]["ends_us"] - timeline["whole"]["begins_us"]
    found: list[dict[str, Any]] = []
    for stretch in timeline["stretches"]:
        room = max(stretch["took_us"] // 20, 1)
        begins, ends = stretch["begins_us"] - room, stretch["ends_us"] + room
        if stretch["took_us"] * 3 < whole:
            found.append(stretch | {"address": with_query(request, begins=begins, ends=ends) + "#time"})
    return found[-8:]


def _numbers(run: dict[str, Any]) -> dict[str, int]:
    """The numbers that people see, by id."""
    records = run["records"]
    numbers = {operation["operation_id"]: operation["number"] for operation in records["operations"]}
    return numbers | {approval["review_id"]: approval["number"] for approval in known(records["approvals"])}


def _raises(kind: str, limit: str, reason: str) -> dict[str, str | int] | None:
    if not kind or not limit:
        return None
    if not reason.strip():
        raise Refused("usage", problem="raising a budget names its reason")
    return {kind: limit}
