"""Conversations: the list, and one of them with its transcript and, apart from it, what the record says."""

import json
from typing import Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.desk import Desk
from counterfoil.console.addresses import address
from counterfoil.console.pages.lists import cursor_of
from counterfoil.console.pages.rendering import done, page, pages_of, with_query
from counterfoil.console.pages.run import known, pretty
from counterfoil.console.pages.speaking import new_request_id
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.model.errors import Refused

LIMIT = 50
TURNS = 10  # in full on one page; earlier ones are read on
SHORT = 120
LONGEST = 4000  # characters of what a tool gave; the whole stands in its entry


def routes() -> APIRouter:
    """`/conversations`, `/conversations/{conversation}`, and cancelling its turn at work."""
    router = APIRouter()

    @router.get("/conversations")
    def conversations(request: Request, at: AtDesk, cursor: str = "") -> Response:
        listed = at.conversations.list(cursor=cursor_of(cursor), limit=LIMIT)
        items = [each | {"newest": at.turns.newest(each["conversation_id"])} for each in listed["items"]]
        return page(
            request, "lists/conversations.html", desk=at, items=items, pages=pages_of(request, listed),
            agents=at.conversations.agents(), request_id=new_request_id(),
        )  # fmt: skip

    @router.get("/conversations/{conversation}")
    def show(request: Request, conversation: str, at: AtDesk, upto: int | None = None) -> Response:
        mark, _ = at.turns.mark(conversation)  # before anything else is read: what comes in between is news
        shown = at.conversations.show(conversation, before=None if upto is None else upto + 1, limit=TURNS)
        turns = [_whole(at, turn) for turn in shown["transcript"]["items"]]
        runs = [turn["run"] for turn in turns if turn["run"] is not None]
        return page(
            request, "conversation/conversation.html", desk=at, talk=shown, turns=turns, mark=mark,
            at_work=_at_work(at, shown, runs), queue=at.turns.waiting(conversation), newest=at.turns.newest(conversation),
            parent=parent_of(at, shown), records=_records(at, runs), pretty=_written, longest=LONGEST, upto=upto, runs=runs,
            earlier=_earlier(request, shown), numbers=_numbers(runs),
            may_speak=shown["agent"] in at.conversations.agents(), request_id=new_request_id(),
        )  # fmt: skip

    @router.post("/conversations/{conversation}/abort")
    async def abort(
        request: Request, conversation: str, at: AtDesk, reason: str = Form(""), queued: str = Form("")
    ) -> Response:
        count_answer(request, at.actor)
        if not reason.strip():
            raise Refused("usage", problem="cancelling names its reason")
        told = await at.conversations.abort(conversation, reason=reason, queued=bool(queued))
        return done(request, address(request, f"/conversations/{_id(at, conversation)}"), told["sentence"])

    return router


def _written(value: Any) -> str:
    """JSON on one line where it is short."""
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= SHORT else pretty(value)


def _id(at: Desk, conversation: str) -> str:
    return str(at.conversations.show(conversation, limit=1)["conversation_id"])


def _whole(at: Desk, turn: dict[str, Any]) -> dict[str, Any]:
    """TURN with `items`, its journal's tale, and `run`; None where the person does not see the run."""
    try:
        run, items = at.runs.show(turn["run_id"]), at.turns.items(turn["run_id"])
    except Refused as refused:
        if refused.code != "not_found":
            raise
        return turn | {"run": None, "items": []}
    operations = {each["operation_id"]: each for each in run["records"]["operations"]}
    for item in items:
        for call in item.get("calls", ()):
            call["records"] = [_record(run, operations[each]) for each in call["operations"] if each in operations]
    return turn | {"run": run, "items": items}


def _record(run: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    """An operation with the reviews that were opened for it."""
    asked = [each for each in known(run["records"]["approvals"]) if each["operation_id"] == operation["operation_id"]]
    return operation | {"reviews": asked}


def _at_work(at: Desk, shown: dict[str, Any], runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """RUN of the turn at work, or what CONVERSATION says of it where the run is not seen."""
    working = shown["at_work"]
    if working is None:
        return None
    found = next((run for run in runs if run["run_id"] == working["run_id"]), None)
    try:
        return found or at.runs.show(working["run_id"])
    except Refused:
        return working | {"next_action": None, "acts": None, "records": None}


def parent_of(at: Desk, shown: dict[str, Any]) -> dict[str, Any] | None:
    """Where a fork began, with the parent's id where the person sees it."""
    forked = shown["forked_from"]
    if forked is None:
        return None
    try:
        place = at.turns.place(forked["run_id"])
    except Refused:
        place = None
    return forked | {"conversation_id": None if place is None else place["conversation_id"]}


def _earlier(request: Request, shown: dict[str, Any]) -> str | None:
    before = shown["transcript"]["next_cursor"]
    return None if before is None else with_query(request, upto=before - 1)


def _records(at: Desk, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The records of these turns beside the transcript, each by its kind; `withheld` names the kinds that are left out."""
    withheld = {kind for run in runs for kind in run["withheld"]}
    return {
        "documents": [
            document | {"run": run["number"]}
            for run in runs
            for document in at.evidence.documents(run["run_id"])["items"]
        ],
        "operations": [each | {"run": run["number"]} for run in runs for each in run["records"]["operations"]],
        "receipts": [each | {"run": run["number"]} for run in runs for each in known(run["records"]["receipts"])],
        "approvals": [each | {"run": run["number"]} for run in runs for each in known(run["records"]["approvals"])],
        "withheld": withheld,
    }  # fmt: skip


def _numbers(runs: list[dict[str, Any]]) -> dict[str, int]:
    """The numbers of operations that people see, by id."""
    return {each["operation_id"]: each["number"] for run in runs for each in run["records"]["operations"]}
