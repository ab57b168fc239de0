"""The messages of a turn, put together again from its journal. A conversation's history is the fold of its turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from counterfoil.agents.compaction import COMPACT, compacted
from counterfoil.agents.messages import plain_of
from counterfoil.agents.undeclared import telling, told_receipt
from counterfoil.engine.call_tool import HEARD, HELD, INTERRUPTED
from counterfoil.engine.following import turns_before
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import compact, parsed
from counterfoil.model.conversation import TurnRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader

ASK = "ask "  # how the name of a question of a turn begins
OVER = "Final result processed."
NOT_DONE = "Not done: the turn ended before."
HANDED_OVER = "This conversation was handed over to you. A note of whoever handed it over, not of the user:"


@dataclass(slots=True)
class _Told:
    """What the entries of a turn say of its tools' calls, by the position of the answer and the number of the call."""

    outcomes: dict[str, str] = field(default_factory=lambda: {})
    operations: dict[str, str] = field(default_factory=lambda: {})
    interrupted: list[str] = field(default_factory=lambda: [])
    heard: set[str] = field(default_factory=lambda: set())

    def note(self, kind: EntryKind, position: str, name: str, data: Mapping[str, Any]) -> None:
        place = position.rpartition(".")[0]
        if kind is EntryKind.PREPARED:
            self.operations[place] = data["operation_id"]
        elif kind is EntryKind.STEP and name == INTERRUPTED:
            self.interrupted.append(data["out"]["operation_id"])
        elif kind is EntryKind.STEP and name in (HEARD, HELD):
            self.heard.update(data["out"]["for"])
        elif kind is EntryKind.STEP and place:
            given = cast("dict[str, Any]", data["out"])
            returned: dict[str, Any] = given.get("returned") or {}
            text: Any = given.get("retry") or given.get("failed") or returned.get("value")
            self.outcomes[place] = text if isinstance(text, str) else compact(text)
        elif kind is EntryKind.STEP_FAILED and place:
            self.outcomes[place] = f"It failed: {data['failure']['message']}"


def history_of(opened: Opened, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """The messages after these turns, oldest turn first. Raises Refused: artifact_missing, artifact_damaged."""
    messages: list[dict[str, Any]] = []
    with opened.read() as reader:
        for run_id in run_ids:
            messages = after_turn(reader, run_id, messages, opened.artifacts.whole)
    return messages


def history_before(opened: Opened, reader: Reader, run_id: str) -> list[dict[str, Any]]:
    """What a turn begins with: the messages of the turns before, and the note of whoever handed the conversation over to it."""
    return handed_over(reader, run_id, history_of(opened, turns_before(reader, run_id)))


def handed_over(reader: Reader, run_id: str, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`before`, and the note that a turn begins with. It says who speaks: its words are not the user's."""
    turn = reader.get(TurnRecord, run_id)
    if turn is None or turn.note is None:
        return before
    return [*before, *plain_of([ModelRequest(parts=[UserPromptPart(f"{HANDED_OVER}\n{turn.note}")])])]


def after_turn(reader: Reader, run_id: str, before: list[dict[str, Any]], whole: Whole) -> list[dict[str, Any]]:
    """`before` and what this turn added: no call is left without a return, whatever became of the turn."""
    messages, told, answer = handed_over(reader, run_id, before), _Told(), ""
    asked: list[dict[str, Any]] | None = None
    for entry in reader.entries(run_id):
        data, name = _data(entry), entry.name or ""
        if entry.kind is EntryKind.ASKED and name.startswith(ASK):
            asked = messages[: data["keep"]] + list(whole(data["add"]))
        elif entry.kind is EntryKind.DECISION and name.startswith(ASK) and asked is not None:
            messages, asked, answer = [*asked, whole(data["output"])], None, entry.position or ""
        elif entry.kind is EntryKind.DECISION and name.startswith(COMPACT):
            messages = compacted(whole(data["output"]))
        elif entry.position is not None:
            told.note(entry.kind, entry.position, name, data)
    if asked is not None:
        messages = asked  # it was asked, and no answer came
    run = reader.get(RunRecord, run_id)
    ended_well = run is not None and run.state is RunState.COMPLETED
    closing = [*_returns(reader, messages, told, answer, whole, ended_well=ended_well), *_news(reader, told, whole)]
    return messages + (plain_of([ModelRequest(parts=closing)]) if closing else [])


def _returns(
    reader: Reader, messages: list[dict[str, Any]], told: _Told, answer: str, whole: Whole, *, ended_well: bool
) -> list[ToolReturnPart]:
    """A return for each call of the newest answer: what became of it, from the record."""
    if not messages or messages[-1]["kind"] != "response":
        return []
    calls = [part for part in messages[-1]["parts"] if part["part_kind"] == "tool-call"]
    return [
        ToolReturnPart(
            tool_name=call["tool_name"],
            content=_outcome(reader, told, f"{answer}.{n}", OVER if ended_well else NOT_DONE, whole),
            tool_call_id=call["tool_call_id"],
        )
        for n, call in enumerate(calls)
    ]


def _outcome(reader: Reader, told: _Told, place: str, otherwise: str, whole: Whole) -> str:
    if place in told.outcomes:
        return told.outcomes[place]
    record = reader.get(OperationRecord, told.operations.get(place, ""))
    if record is None:
        return otherwise
    if record.status is OperationStatus.SUCCEEDED:
        receipt = reader.get(ReceiptRecord, record.receipt_id or "")
        return told_receipt(receipt, whole) if receipt is not None else "It has happened."
    if record.status is OperationStatus.FAILED or not record.sent:
        return f"It did not happen: {record.withdrawn or record.reason or 'refused'}."
    return "Its outcome is unknown. It may have happened."


def _news(reader: Reader, told: _Told, whole: Whole) -> list[UserPromptPart]:
    """What became of interrupted calls of which the model has not heard."""
    records = [reader.get(OperationRecord, each) for each in told.interrupted if each not in told.heard]
    closed = [record for record in records if record is not None and record.status.closed]
    return [UserPromptPart(telling(reader, record, whole)) for record in closed]


def _data(entry: Entry) -> dict[str, Any]:
    return parsed(entry.body)["data"]
