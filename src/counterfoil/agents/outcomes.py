"""What became of the calls of an answer, from the record: what a later turn is told of a turn that was cut off."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from counterfoil.agents.undeclared import answer_of, telling
from counterfoil.engine.call_tool import HEARD, HELD, INTERRUPTED, TOOL
from counterfoil.engine.call_wait import CHILD
from counterfoil.engine.receipts import whole_receipt
from counterfoil.model.codec import compact, parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader

NOT_DONE = "Not done: the turn ended before."
CUT_OFF = "It was cut off: the turn ended before it was through."
UNKNOWN = "Its outcome is unknown. It may have happened."

_MARKS = (INTERRUPTED, HELD, HEARD)
_WORK = frozenset(
    {
        EntryKind.STEP, EntryKind.STEP_FAILED, EntryKind.TIMER, EntryKind.FIRED, EntryKind.RECEIVED, EntryKind.DECISION,
        EntryKind.MESSAGE, EntryKind.DOCUMENT,
    }
)  # fmt: skip


@dataclass(slots=True)
class Told:
    """What the entries of a turn say of its tools' calls. A call stands under `{position of the answer}.{its number}.`.

    `ends` by that place: what a safe tool gave. By position: `operations` and `children`, `taken` a child's end as the turn
    heard it. `parts`: where a tool that is a part of the workflow did something else.
    """

    ends: dict[str, dict[str, Any]] = field(default_factory=lambda: {})
    operations: dict[str, str] = field(default_factory=lambda: {})
    children: dict[str, str] = field(default_factory=lambda: {})
    taken: dict[str, dict[str, Any]] = field(default_factory=lambda: {})
    parts: list[str] = field(default_factory=lambda: [])
    interrupted: list[str] = field(default_factory=lambda: [])
    heard: set[str] = field(default_factory=lambda: set())

    def note(self, kind: EntryKind, position: str, name: str, data: Mapping[str, Any]) -> None:
        if kind is EntryKind.PREPARED:
            self.operations[position] = data["operation_id"]
        elif kind is EntryKind.CHILD:
            self.children[position] = data["run_id"]
        elif kind is EntryKind.RECEIVED and name.startswith(CHILD):
            self.taken[position] = dict(data)
        elif kind is EntryKind.STEP and name == INTERRUPTED:
            self.interrupted.append(data["out"]["operation_id"])
        elif kind is EntryKind.STEP and name in (HEARD, HELD):
            self.heard.update(data["out"]["for"])
        elif kind in (EntryKind.STEP, EntryKind.STEP_FAILED) and name.startswith(TOOL):
            self._ended(position.rpartition(".")[0], data)
        elif kind in _WORK and name not in _MARKS:
            self.parts.append(position)

    def _ended(self, place: str, data: Mapping[str, Any]) -> None:
        if "failure" in data:
            self.ends[place] = {"failed": f"It failed: {data['failure']['message']}"}
        elif "approval" not in data["out"]:  # asked for one, it did nothing: what follows is an operation
            self.ends[place] = data["out"]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Asks the record. `before` (microseconds): other runs as they stood then, so that whoever is told hears the same again."""

    reader: Reader
    whole: Whole
    before: int | None = None

    def of(self, told: Told, place: str, otherwise: str) -> str:
        """What became of the call at a place: `otherwise` where nothing of it is on record."""
        if place in told.ends:
            return self._said(told.ends[place])
        within = f"{place}."
        done = [self._of_operation(found) for at, found in told.operations.items() if at.startswith(within)]
        done += [
            self._of_child(found, told.taken.get(at)) for at, found in told.children.items() if at.startswith(within)
        ]
        part = any(at.startswith(within) for at in told.parts)
        if len(done) == 1 and not part:
            return done[0][1]
        named = [f"{name}: {outcome}" for name, outcome in done]
        return " ".join([CUT_OFF, *named]) if done or part else otherwise

    def _of_operation(self, operation_id: str) -> tuple[str, str]:
        record = self.reader.get(OperationRecord, operation_id)
        assert record is not None, "what was prepared is stored"
        return f"{record.name} (op-{record.number})", self._ended(record)

    def _ended(self, record: OperationRecord) -> str:
        if record.undeclared and record.resolution is not None and record.status.closed:
            return telling(self.reader, record, self.whole)
        if record.status is OperationStatus.SUCCEEDED:
            receipt = self.reader.get(ReceiptRecord, record.receipt_id or "")
            plain = None if receipt is None else whole_receipt(receipt.body, self.whole)
            if plain is None or not record.undeclared:
                return "It has happened." if plain is None else compact(plain)
            returned: dict[str, Any] | None = plain.get("returned")
            return telling(self.reader, record, self.whole) if returned is None else self._said(returned)
        if record.status is OperationStatus.FAILED or not record.sent:
            if record.undeclared:
                with suppress(LookupError):
                    return self._said(answer_of(self.reader, record))
            return f"It did not happen: {record.withdrawn or record.reason or 'refused'}."
        return UNKNOWN

    def _said(self, given: Mapping[str, Any]) -> str:
        """What a tool gave, as text: its result, or its own words for the model."""
        said: str | None = given.get("retry") or given.get("failed")
        returned: dict[str, Any] = self.whole(given.get("returned")) or {}
        return said or _text(returned.get("value"))

    # ------------------------------------------------------------------ other agents

    def _of_child(self, run_id: str, taken: Mapping[str, Any] | None) -> tuple[str, str]:
        run = self.reader.get(RunRecord, run_id)
        if run is None:  # it was to be asked, and never was
            return "another agent", NOT_DONE
        entries = [entry for entry in self.reader.entries(run_id) if self.before is None or entry.at < self.before]
        state = taken["state"] if taken is not None else _end_in(entries)
        name = f"{run.workflow} (run-{run.number})"
        if state is None:
            return name, f"{UNKNOWN} run-{run.number} has not ended."
        if state == RunState.COMPLETED:
            return name, _text(parsed((taken["out"] if taken is not None else run.result) or "null"))
        done = " ".join(self._done_by(run_id, entries))
        return name, f"It ended {state} and gave no answer. {done or 'Nothing that it did outside is on record.'}"

    def _done_by(self, run_id: str, entries: list[Entry]) -> Iterator[str]:
        """What a run without a result did outside all the same."""
        for record in self.reader.find(OperationRecord, "run_id", run_id):
            closed = self.before is None or (record.closed_at or 0) < self.before
            if record.status is OperationStatus.SUCCEEDED and closed:
                yield f"Before that, {record.name} (op-{record.number}): {self._ended(record)}"
        for entry in entries:
            if entry.kind is EntryKind.CHILD:
                name, outcome = self._of_child(parsed(entry.body)["data"]["run_id"], None)
                yield f"Before that, it asked {name}: {outcome}"


def _end_in(entries: list[Entry]) -> str | None:
    """How a run stood by these entries: the state in which it ended, None while it had not, or went on since."""
    newest = next((e for e in reversed(entries) if e.kind in (EntryKind.FINISHED, EntryKind.RESUMED)), None)
    return newest.name if newest is not None and newest.kind is EntryKind.FINISHED else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)
