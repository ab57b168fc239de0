"""Count from the journal: each entry once, whichever process wrote it, and whether or not that process still lives."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from typing import Any

from counterfoil.app.metrics.values import Totals, add, observe
from counterfoil.model import metrics
from counterfoil.model.duty import SpanRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.metrics import Metric
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import ParkReason
from counterfoil.store.port import Reader

SECOND_US = 1_000_000
LOOKED_AT = 64
RECOVERY, INTERVENTION = "recovery", "intervention"
CRASH, AMBIGUOUS = "crash", "ambiguous_answer"

# After a crash the run has come further than the record of the crash itself.
PROGRESS = frozenset(
    {
        EntryKind.STEP, EntryKind.STEP_FAILED, EntryKind.DECISION, EntryKind.PROPOSAL, EntryKind.PREPARED, EntryKind.REVIEW,
        EntryKind.CLASSIFIED, EntryKind.LATE, EntryKind.LOOKED_UP, EntryKind.CLOSED, EntryKind.EXPIRED, EntryKind.TIMER,
        EntryKind.FIRED, EntryKind.RECEIVED, EntryKind.CHILD, EntryKind.MESSAGE, EntryKind.DOCUMENT, EntryKind.SUSPENDED,
        EntryKind.PARKED, EntryKind.FINISHED,
    }
)  # fmt: skip
_CLOSED = frozenset({"succeeded", "failed"})
_MOVED = _CLOSED | {"unknown"}  # closed, or given to a person


@dataclass(slots=True)
class Count:
    """What a stretch of the journal adds: `totals`, and `spans` that began or ended in it. `upto` is how far it goes."""

    after: int
    upto: int
    totals: Totals = field(default_factory=dict[tuple[str, str], float])
    spans: dict[str, SpanRecord] = field(default_factory=dict[str, SpanRecord])

    def go_on(self, reader: Reader, upto: int) -> None:
        """Count on to an ordinal. With the snapshot's newest, what a crash began is looked through as well."""
        stretch = _Stretch(reader, self)
        for entry in reader.figures.counted(self.upto, upto):
            stretch.entry(entry)
        steps = reader.figures.steps(self.upto, upto)
        if steps:
            add(self.totals, metrics.STEPS, steps)
        self.upto = upto
        if upto == reader.upkeep.newest_ordinal():
            stretch.crashes()


class _Stretch:
    def __init__(self, reader: Reader, count: Count) -> None:
        self._reader = reader
        self._count = count
        self._operations: dict[str, dict[str, str]] = {}

    def entry(self, entry: Entry) -> None:
        """Count one entry: by its kind, then by the rows that it changed."""
        body = json.loads(entry.body)
        data: dict[str, Any] = body["data"] or {}
        rows: dict[str, dict[str, dict[str, Any]]] = body.get("rows", {})
        match entry.kind:
            case EntryKind.STARTED if data["from"] == "running":
                self._add(metrics.LEASE_LOSSES)
                self._crashed(entry, data)
            case EntryKind.PARKED if not data.get("overdue"):
                if entry.name == ParkReason.POISONED and "crashes" in data:
                    self._add(metrics.LEASE_LOSSES)
                self._begin(INTERVENTION, str(entry.name), entry.run_id, entry, entry.at)
            case EntryKind.IN_FLIGHT if data["n"] > 1:
                self._add(metrics.ATTEMPTS_REPEATED, **self._labels(data["operation_id"]))
            case EntryKind.DECISION if data.get("cost_micros"):
                name = str(entry.name).partition(" ")[2]
                add(self._count.totals, metrics.BUDGET_SPENT, data["cost_micros"], decision=name)
            case _:
                pass
        self._rows(entry, data, rows)

    def crashes(self) -> None:
        """What came after a crash may be a plain step, which is not read with the others: looked for run by run."""
        known = {span.span_id: span for span in self._reader.figures.open_spans(RECOVERY)} | self._count.spans
        for span in list(known.values()):
            if span.label == CRASH and span.ended_at is None:
                self._progressed(span, None)

    # ------------------------------------------------------------------ rows that an entry changed

    def _rows(self, entry: Entry, data: dict[str, Any], rows: dict[str, dict[str, dict[str, Any]]]) -> None:
        for attempt_id, changed in rows.get("attempts", {}).items():
            attempt = self._reader.get(AttemptRecord, attempt_id) if "ended_at" in changed else None
            if (
                attempt is not None
            ):  # the row says whose it is: not every entry that ends an attempt names its operation
                self._attempt_ended(entry, attempt.operation_id, changed, rows)
        for operation_id, changed in rows.get("operations", {}).items():
            if changed.get("status") in _MOVED | {"prepared"}:
                self._end(RECOVERY, operation_id, entry)
        for run_id, changed in rows.get("runs", {}).items():
            if changed.get("state") == "pending":
                self._end(INTERVENTION, run_id, entry)
        for changed in rows.get("incidents", {}).values():
            if "opened_at" in changed:
                self._add(metrics.DUPLICATES_FOUND)

    def _attempt_ended(
        self, entry: Entry, operation_id: str, changed: dict[str, Any], rows: dict[str, dict[str, dict[str, Any]]]
    ) -> None:
        status = rows.get("operations", {}).get(operation_id, {}).get("status")
        if rows.get("receipts") or status in _MOVED:
            return
        self._add(metrics.ATTEMPTS_WITHOUT_PROGRESS, **self._labels(operation_id))
        answered = "answer_class" in changed  # else its sender was found dead: that is the crash's own recovery
        if answered and not changed.get("closed"):
            self._begin(RECOVERY, AMBIGUOUS, operation_id, entry, entry.at)

    # ------------------------------------------------------------------ stretches of time

    def _crashed(self, entry: Entry, data: dict[str, Any]) -> None:
        for span in self._open(RECOVERY, entry.run_id):
            self._progressed(span, entry.sequence)
        # Where it crashed again before it came further, the span is open still: it is the same recovery.
        self._begin(RECOVERY, CRASH, entry.run_id, entry, min(data.get("missed_at", entry.at), entry.at))

    def _progressed(self, span: SpanRecord, before: int | None) -> bool:
        """End a crash's span where the run came further."""
        for entry in self._entries(span.run_id, int(span.span_id.rpartition(".")[2])):
            if before is not None and entry.sequence >= before:
                return False
            handed_over = entry.kind is EntryKind.SUSPENDED and '"handed_over":true' in entry.body
            if entry.kind in PROGRESS and not handed_over:
                self._ended(span, entry.at)
                return True
        return False

    def _entries(self, run_id: str, after: int) -> Iterator[Entry]:
        while found := self._reader.entries(run_id, after=after, limit=LOOKED_AT):
            yield from found
            after = found[-1].sequence

    def _begin(self, what: str, label: str, subject: str, entry: Entry, at: int) -> None:
        if not self._open(what, subject, entry.run_id):
            span_id = f"{subject}.{entry.sequence}"
            self._count.spans[span_id] = SpanRecord(span_id, what, label, entry.run_id, at, None)

    def _end(self, what: str, subject: str, entry: Entry) -> None:
        run_id = subject if what == INTERVENTION else entry.run_id
        for span in self._open(what, subject, run_id):
            self._ended(span, entry.at)

    def _ended(self, span: SpanRecord, at: int) -> None:
        self._count.spans[span.span_id] = replaced(span, ended_at=max(at, span.began_at))
        seconds = max(0, at - span.began_at) / SECOND_US
        if span.what == RECOVERY:
            observe(self._count.totals, metrics.RECOVERY_DURATION, seconds, cause=span.label)
        else:
            observe(self._count.totals, metrics.INTERVENTION, seconds, reason=span.label)

    def _open(self, what: str, subject: str, run_id: str | None = None) -> list[SpanRecord]:
        run_id = run_id or subject
        stored = {span.span_id: span for span in self._reader.find(SpanRecord, "run_id", run_id)}
        known = stored | self._count.spans
        return [
            span
            for span in known.values()
            if span.ended_at is None and span.what == what and span.span_id.rpartition(".")[0] == subject
        ]

    # ------------------------------------------------------------------ labels

    def _add(self, metric: Metric, **labels: str) -> None:
        add(self._count.totals, metric, 1, **labels)

    def _labels(self, operation_id: str) -> dict[str, str]:
        if operation_id not in self._operations:
            operation = self._reader.get(OperationRecord, operation_id)
            assert operation is not None, "an entry names an operation that is stored"
            self._operations[operation_id] = {"receiver": operation.receiver, "operation": operation.name}
        return self._operations[operation_id]
