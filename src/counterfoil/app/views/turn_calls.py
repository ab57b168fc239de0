"""One call of a tool that a model asked for: what it is, and what became of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from counterfoil.engine.call_tool import HELD, INTERRUPTED, TOOL
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader

ELSEWHERE = "elsewhere"  # it was called where the turn took place: what is known of it is what was told
_REFUSED = 422  # what an undeclared tool's own refusal is kept as


@dataclass(slots=True)
class Call:
    """`place`: the branch that it is run in. What it is shows only in what it left in the journal."""

    place: str
    n: int
    tool: str
    arguments: Any
    call_id: str | None = None
    sequence: int | None = None  # the newest entry of it
    returned: str | None = None
    failed: str | None = None
    told: str | None = None  # what the model was told of it
    tries: int = 0
    safe: bool = False
    held: bool = False
    interrupted: bool = False
    within: bool = False  # something else stands in its branch: it is a part of the workflow
    operations: list[str] = field(default_factory=lambda: [])
    children: list[str] = field(default_factory=lambda: [])

    def note(self, entry: Entry, data: Mapping[str, Any], whole: Whole) -> None:
        """One more entry of its branch."""
        self.sequence = entry.sequence
        name = entry.name or ""
        operation_id = data.get("operation_id")
        if entry.kind in (EntryKind.PREPARED, EntryKind.PROPOSAL) and operation_id is not None:
            self.operations += [] if operation_id in self.operations else [operation_id]
        elif name == INTERRUPTED:
            self.interrupted = True
        elif name == HELD:
            self.held = True
        elif name.startswith(TOOL):
            self._tool(entry.kind, data, whole)
        elif entry.kind is EntryKind.CHILD:
            self.within = True
            self.children += [data["run_id"]] if "run_id" in data else []
        elif operation_id is None and entry.kind in (
            EntryKind.STEP,
            EntryKind.STEP_FAILED,
            EntryKind.TIMER,
            EntryKind.DOCUMENT,
        ):
            self.within = True

    def hear(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """What the model was told of it, in the question after it."""
        for part in parts:
            self.told = _text(part.get("content"))

    def _tool(self, kind: EntryKind, data: Mapping[str, Any], whole: Whole) -> None:
        self.safe = True
        if kind is EntryKind.STEP:
            self.returned, self.failed = _outcome(data["out"], whole)
        elif kind is EntryKind.STEP_FAILED:
            self.failed = f"It failed: {data['failure']['message']}"
        elif kind is EntryKind.TRY_FAILED:
            self.tries += 1

    def view(
        self, reader: Reader, operations: Mapping[str, OperationRecord], otherwise: str, whole: Whole
    ) -> dict[str, Any]:
        """`{n, tool, what, state, arguments, returned, failed, tries, was_interrupted, operations, children, sequence}`.

        `what`: safe, operation, undeclared, run (a part of the workflow), or None where it left nothing to tell it by. `state`:
        done, failed, running, held (not run: planned before it was known what an interrupted call did), interrupted (nobody
        knows yet whether it happened), recorded (its operation says how it stands), not_run (it never came to run: `failed` is
        what the model was told), or where nothing is recorded `otherwise`; elsewhere: `returned` is what the model was told.
        `children`: numbers of child runs.
        """
        records = [operations[each] for each in self.operations if each in operations]
        undeclared = next((record for record in records if record.undeclared), None)
        if undeclared is not None:
            self._undeclared(reader, undeclared, whole)
        state = self._state(records, otherwise)
        runs = [reader.get(RunRecord, each) for each in self.children]
        return {
            "n": self.n, "tool": self.tool, "what": self._what(records), "state": state,
            "arguments": self.arguments, "tries": self.tries,
            "returned": self.told if state == ELSEWHERE else self.returned,
            "failed": self.told if state in ("not_run", "held") else self.failed,
            "was_interrupted": self.interrupted, "operations": [record.operation_id for record in records],
            "children": [run.number for run in runs if run is not None], "sequence": self.sequence,
        }  # fmt: skip

    def _what(self, records: Sequence[OperationRecord]) -> str | None:
        if self.safe:
            return "safe"
        if any(record.undeclared for record in records):
            return "undeclared"
        if any(record.name == self.tool for record in records):
            return "operation"
        return "run" if self.within or records else None

    def _state(self, records: Sequence[OperationRecord], otherwise: str) -> str:
        if self.held and not records:
            return "held"
        if self.interrupted and any(record.status is OperationStatus.UNKNOWN for record in records):
            return "interrupted"
        if self.failed is not None:
            return "failed"
        if self.returned is not None:
            return "done"
        if records:
            return "recorded"
        if self.safe or self.within:
            return "running"
        return otherwise if self.told is None or otherwise == ELSEWHERE else "not_run"

    def _undeclared(self, reader: Reader, record: OperationRecord, whole: Whole) -> None:
        """What the tool gave, or said when it refused."""
        receipt = None if record.receipt_id is None else reader.get(ReceiptRecord, record.receipt_id)
        if receipt is not None:
            given = parsed(receipt.body).get("returned")
            self.returned, _ = (None, None) if given is None else _outcome(given, whole)
            return
        attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
        if attempts and attempts[-1].answer_status == _REFUSED and attempts[-1].exchange:
            _, self.failed = _spoken(parsed(parsed(attempts[-1].exchange)["body"]))


def calls_of(position: str, parts: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The calls of an answer at a position, each run in the branch of its number."""
    return [
        Call(f"{position}.{n}", n, str(part["tool_name"]), _arguments(part.get("args")), part.get("tool_call_id"))
        for n, part in enumerate(parts)
    ]


def _arguments(given: Any) -> Any:
    """As JSON; a text that is none stays text."""
    if not isinstance(given, str):
        return given or {}
    try:
        return json.loads(given or "{}")
    except ValueError:
        return given


def _outcome(out: Any, whole: Whole) -> tuple[str | None, str | None]:
    try:
        return _spoken(out, whole)
    except Refused as refused:
        return f"It cannot be read any more: {refused.message}", None


def _spoken(given: Any, whole: Whole = lambda value: value) -> tuple[str | None, str | None]:
    """(what it returned, what it said in place of that)"""
    if not isinstance(given, dict):
        return _text(given), None
    said = cast("dict[str, Any]", given)
    for word in ("retry", "failed"):
        if said.get(word):
            return None, str(said[word])
    returned: Any = whole(said.get("returned") or {})
    return _text(returned.get("value")), None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
