"""`desk.evidence`."""

from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.withheld import ENTRY_KINDS, Reads, timeline_without, without
from counterfoil.model.access import RecordKind

_QUESTION = {
    "versions": RecordKind.PAYLOADS, "since_previous": RecordKind.PAYLOADS, "since_first": RecordKind.PAYLOADS,
    "target": RecordKind.PAYLOADS, "amount": RecordKind.PAYLOADS, "decision": RecordKind.DECISIONS,
    "answers": RecordKind.APPROVALS, "approvals": RecordKind.APPROVALS,
}  # fmt: skip
_EXCHANGE = {"exchange": RecordKind.RECEIPTS}
_ASKED = {"asked": RecordKind.RECEIPTS}
_DOCUMENT = {"body": RecordKind.WORKING_CONTEXT, "lines": RecordKind.WORKING_CONTEXT}


class DeskEvidence:
    """As `app.evidence`. What the person may not see is not_found; records of a kind that is not read are withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.evidence

    def entries(self, run: str, *, cursor: int | None = None, limit: int = 100) -> dict[str, Any]:
        """`{items, next_cursor}`, oldest first: what each entry is, not what it says."""
        return self._noun.entries(self._run(run), cursor=cursor, limit=limit)

    def newest(self, run: str) -> dict[str, Any]:
        """The newest entry's sequence and digest."""
        return self._noun.newest(self._run(run))

    def entry(self, run: str, sequence: int) -> dict[str, Any]:
        """One entry. Its `data` is read by its kind; its `rows`, which hold columns of every kind, by who reads all kinds."""
        run_id, reads = self._read_run(run)
        view = self._noun.entry(run_id, sequence)
        kind = ENTRY_KINDS.get(view["kind"])
        view = without(view, {} if kind is None else {"data": kind}, reads)
        hidden = [each.value for each in RecordKind if not reads(each)]
        return view if not hidden else view | {"rows": None, "withheld": sorted({*view["withheld"], *hidden})}

    def timeline(self, run: str, *, begins_us: int | None = None, ends_us: int | None = None) -> dict[str, Any]:
        """A run's execution in time; what a bar quotes is withheld with the kind that it quotes."""
        run_id, reads = self._read_run(run)
        return timeline_without(self._noun.timeline(run_id, begins_us=begins_us, ends_us=ends_us), reads)

    def documents(self, run: str) -> dict[str, Any]:
        """The versions of a run's working context."""
        run_id, reads = self._read_run(run)
        page = self._noun.documents(run_id)
        return page | {"items": [without(each, _DOCUMENT, reads) for each in page["items"]]}

    def operation(self, operation: str) -> dict[str, Any]:
        """`{life, attempts, in_force, asked}`."""
        operation_id, reads = self._read_operation(operation)
        view = without(self._noun.operation(operation_id), _ASKED, reads)
        return view | {"attempts": [without(each, _EXCHANGE, reads) for each in view["attempts"]]}

    def actions(self, operation: str) -> dict[str, Any]:
        """What this person may do about it, and why not the rest."""
        return self._noun.actions(self._read_operation(operation)[0], by=self._sight.actor)

    def moved(self, operation: str, since_version: int) -> dict[str, Any]:
        """What changed it after a version that somebody saw."""
        return self._noun.moved(self._read_operation(operation)[0], since_version)

    def acts(self, run: str) -> dict[str, Any]:
        """Why this person may not resume, raise, retry, cancel or signal; None where it may."""
        return self._noun.acts(self._run(run), by=self._sight.actor)

    def question(self, review: str) -> dict[str, Any]:
        """What a reviewer reads besides REVIEW."""
        with self._sight.look() as look:
            record, operation, run = look.review(review)
        view = self._noun.question(record.review_id, by=self._sight.actor)
        return without(view, _QUESTION, lambda kind: look.reads_operation(kind, operation, run))

    def _run(self, run: str) -> str:
        return self._read_run(run)[0]

    def _read_run(self, run: str) -> tuple[str, Reads]:
        with self._sight.look() as look:
            record = look.run(run)
        return record.run_id, lambda kind: look.reads_run(kind, record)

    def _read_operation(self, operation: str) -> tuple[str, Reads]:
        with self._sight.look() as look:
            record, run = look.operation(operation)
        return record.operation_id, lambda kind: look.reads_operation(kind, record, run)
