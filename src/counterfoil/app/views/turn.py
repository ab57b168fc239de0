"""TURN as its journal tells it: what was said, what the model answered, and what became of each call that it asked for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.turn_calls import ELSEWHERE, Call, calls_of
from counterfoil.engine.admission import STEER
from counterfoil.engine.call_tool import HEARD, HELD
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import MessageRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader


def said_in_turn(reader: Reader, run: RunRecord, whole: Whole) -> list[dict[str, Any]]:
    """The items of a turn in the order of its journal, each with `kind`, `sequence` and `at`:

    - said: `{role, text}`; steer: `{text}`, what the user said while the turn was at work
    - heard: `{operations}`, the calls of which the model was told what became of them
    - decision: `{position, model, text, said_as, usage, cost_micros, lost, failed, compaction, calls}`. `said_as` is the entry
      of the message that says the same, which is then no item of its own. `lost` and `failed` count the model calls before it
    - asking: `{position, lost, failed, open}`, a question without an answer; `open` while one may still come
    """
    told = _Telling(reader, run, whole)
    for entry in reader.entries(run.run_id):
        told.take(entry)
    return told.items()


_NO_ANSWER = (EntryKind.LOST, EntryKind.TRY_FAILED, EntryKind.STEP_FAILED)


class _Telling:
    """Goes through a journal once."""

    def __init__(self, reader: Reader, run: RunRecord, whole: Whole) -> None:
        self._reader, self._run, self._whole = reader, run, whole
        self._messages = {each.sequence: each for each in reader.find(MessageRecord, "run_id", run.run_id)}
        self._operations = {each.operation_id: each for each in reader.find(OperationRecord, "run_id", run.run_id)}
        self._items: list[dict[str, Any]] = []
        self._asking: dict[str, dict[str, Any]] = {}  # by position, until it is answered
        self._elsewhere = False
        self._calls: dict[str, Call] = {}  # by the branch that each is run in

    def take(self, entry: Entry) -> None:
        data: dict[str, Any] = parsed(entry.body)["data"]
        call = self._call_at(entry.position)
        if call is not None:
            call.note(entry, data, self._whole)
        if entry.kind is EntryKind.ASKED:
            self._asked(entry, data)
        elif entry.kind in _NO_ANSWER and entry.position in self._asking:
            self._asking[entry.position]["lost" if entry.kind is EntryKind.LOST else "failed"] += 1
        elif entry.kind is EntryKind.DECISION:
            self._decided(entry, data)
        elif entry.kind is EntryKind.MESSAGE:
            self._said(entry)
        elif entry.kind is EntryKind.FINISHED and data.get("imported"):
            self._elsewhere = True
            self._heard_of_calls({"add": data.get("closing")})
        elif entry.kind is EntryKind.RECEIVED and entry.name == STEER:
            self._add("steer", entry, text=_steered(data))
        elif entry.kind is EntryKind.STEP and entry.name in (HEARD, HELD):
            numbers = [self._operations[each].number for each in data["out"].get("for", ()) if each in self._operations]
            self._add("heard", entry, operations=numbers)

    def items(self) -> list[dict[str, Any]]:
        """What was found, with the calls as they stand at the end."""
        over = self._run.state.ended
        for asking in self._asking.values():
            asking["open"] = not over
        newest = next((item for item in reversed(self._items) if item["kind"] == "decision"), None)
        for item in self._items:
            if item["kind"] == "decision":
                ended_well = item is newest and self._run.state is RunState.COMPLETED
                otherwise = "answer" if ended_well else "not_done" if over else "not_begun"
                otherwise = ELSEWHERE if self._elsewhere else otherwise
                item["calls"] = [
                    call.view(self._reader, self._operations, otherwise, self._whole) for call in item["calls"]
                ]
        return self._items

    def _call_at(self, position: str | None) -> Call | None:
        place = position or ""
        while "." in place:
            place = place.rpartition(".")[0]
            if place in self._calls:
                return self._calls[place]
        return None

    def _add(self, kind: str, entry: Entry, **facts: Any) -> dict[str, Any]:
        item = {"kind": kind, "sequence": entry.sequence, "at": rfc3339(entry.at)} | facts
        self._items.append(item)
        return item

    def _asked(self, entry: Entry, data: Mapping[str, Any]) -> None:
        position = entry.position or ""
        self._heard_of_calls(data)
        before = self._asking.pop(position, None)
        if before is not None:
            self._items.remove(before)
        counts = {"lost": 0, "failed": 0} if before is None else {name: before[name] for name in ("lost", "failed")}
        self._asking[position] = self._add("asking", entry, position=position, open=True, **counts)

    def _heard_of_calls(self, data: Mapping[str, Any]) -> None:
        """What the model is told now of calls that left nothing else: those that never came to run."""
        if not self._calls or not data.get("add"):
            return
        try:
            added: list[dict[str, Any]] = self._whole(data["add"])
        except Refused:
            return
        told = [part for message in added for part in message["parts"] if part.get("tool_call_id")]
        for call in list(self._calls.values())[-len(told) :] if told else ():
            call.hear([part for part in told if part["tool_call_id"] == call.call_id])

    def _decided(self, entry: Entry, data: Mapping[str, Any]) -> None:
        position = entry.position or ""
        asking = self._asking.pop(position, None)
        if asking is not None:
            self._items.remove(asking)
        counts = {name: 0 if asking is None else asking[name] for name in ("lost", "failed")}
        text, calls, compaction = self._answer(data["output"])
        made = calls_of(position, calls)
        self._calls |= {call.place: call for call in made}
        self._add(
            "decision", entry, position=position, model=data.get("model"), text=text, said_as=None, compaction=compaction,
            usage=data.get("usage") or {}, cost_micros=data.get("cost_micros"), calls=made, **counts,
        )  # fmt: skip

    def _answer(self, output: Any) -> tuple[str | None, Sequence[Mapping[str, Any]], bool]:
        """The text of an answer, its calls, and whether it is the summary of what was said before."""
        try:
            answer: Any = self._whole(output)
        except Refused as refused:
            return f"It cannot be read any more: {refused.message}", (), False
        if not isinstance(answer, dict):
            return json.dumps(answer, ensure_ascii=False), (), False
        given = cast("dict[str, Any]", answer)
        if "parts" not in given:
            summary = given.get("summary")
            if isinstance(summary, str):
                return summary, (), True
            return json.dumps(given, ensure_ascii=False), (), False
        parts: list[dict[str, Any]] = given["parts"]
        text = "".join(str(part["content"]) for part in parts if part.get("part_kind") == "text")
        return text or None, [part for part in parts if part.get("part_kind") == "tool-call"], False

    def _said(self, entry: Entry) -> None:
        said = self._messages.get(entry.sequence)
        if said is None:
            return
        newest = self._items[-1] if self._items else None
        same = newest is not None and newest["kind"] == "decision" and not newest["calls"]
        if newest is not None and same and said.role == "agent" and newest["text"] == said.text:
            newest["said_as"] = entry.sequence
        else:
            self._add("said", entry, role=said.role, text=said.text)


def _steered(data: Mapping[str, Any]) -> str:
    out: Any = parsed(data["out"]) if isinstance(data["out"], str) else data["out"]
    text = cast("dict[str, Any]", out)["text"]
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
