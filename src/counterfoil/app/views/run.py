"""RUN: where a run stands, and its six records, kept and shown apart."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from counterfoil.app.views.approval import approval_view, changes_since
from counterfoil.app.views.budgets import budgets_view
from counterfoil.app.views.document import used_by
from counterfoil.app.views.elsewhere import temporal_view
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.operation import Around, operation_view
from counterfoil.app.views.pending import established_view, pending_view
from counterfoil.app.views.receipt import receipt_view
from counterfoil.app.views.run_next import run_next
from counterfoil.app.views.shown import Shown
from counterfoil.engine.decisions import in_doubt
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import DocumentRecord, MessageRecord
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.journal import Entry
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

T = TypeVar("T", AttemptRecord, ReceiptRecord, ReviewRecord, IncidentRecord)


@dataclass(frozen=True, slots=True)
class Records:
    """All rows of one run, each in its table's order."""

    entries: Sequence[Entry]
    operations: Sequence[OperationRecord]
    attempts: Sequence[AttemptRecord]
    receipts: Sequence[ReceiptRecord]
    reviews: Sequence[ReviewRecord]
    incidents: Sequence[IncidentRecord]

    @staticmethod
    def of(reader: Reader, run_id: str) -> "Records":
        """One query per table."""
        return Records(
            reader.entries(run_id),
            reader.find(OperationRecord, "run_id", run_id),
            reader.find(AttemptRecord, "run_id", run_id),
            reader.find(ReceiptRecord, "run_id", run_id),
            reader.find(ReviewRecord, "run_id", run_id),
            reader.find(IncidentRecord, "run_id", run_id),
        )

    def around(self, reader: Reader) -> dict[str, Around]:
        """The records of each operation."""
        attempts, receipts = _by_operation(self.attempts), _by_operation(self.receipts)
        reviews, incidents = _by_operation(self.reviews), _by_operation(self.incidents)
        return {
            o.operation_id: Around.of(reader, o)
            if o.reused_from
            else Around(
                attempts[o.operation_id], receipts[o.operation_id], reviews[o.operation_id], incidents[o.operation_id]
            )
            for o in self.operations
        }


def run_view(shown: Shown, run: RunRecord) -> dict[str, Any]:
    """The RUN shape of the command line, with its records."""
    records = Records.of(shown.reader, run.run_id)
    around = records.around(shown.reader)
    operations = [operation_view(shown, o, around[o.operation_id], run) for o in records.operations]
    return _summary(shown, run, records, around) | {
        "records": {
            "conversation": _conversation(shown.reader, run.run_id),
            "working_context": _working_context(shown.reader, run.run_id),
            "execution_state": {
                "head": f"sha256:{run.head.hex()}",
                "entries": [_entry(entry) for entry in records.entries],
            },
            "operations": operations,
            "receipts": [receipt_view(receipt) for receipt in records.receipts],
            "approvals": [approval_view(review) for review in records.reviews],
        }
    }


def run_summary(shown: Shown, run: RunRecord) -> dict[str, Any]:
    """RUN without its records, as lists show it."""
    records = Records.of(shown.reader, run.run_id)
    return _summary(shown, run, records, records.around(shown.reader))


def _summary(shown: Shown, run: RunRecord, records: Records, around: dict[str, Around]) -> dict[str, Any]:
    changed = [
        change
        for o in records.operations
        for change in changes_since(shown, o, around[o.operation_id].reviews, records.entries)
    ]
    return {
        "run_id": run.run_id,
        "number": run.number,
        "workflow": run.workflow,
        "workflow_version": run.workflow_version,
        "generation": run.generation,
        "request_id": run.request_id,
        "input_digest": run.input_digest,
        "state": run.state.value,
        "reason": run.reason,
        "sentence": run.sentence,
        "owner": run.owner,
        "deadline_at": rfc3339(run.deadline_at),
        "overdue": run.deadline_at is not None and run.deadline_at <= shown.now,
        "heading": run.heading,
        "created_at": rfc3339(run.created_at),
        "updated_at": rfc3339(run.updated_at),
        "result": parsed(run.result),
        "failure": parsed(run.failure),
        "established": established_view(records.entries, records.operations),
        "pending": pending_view(run, records.entries, records.attempts, records.reviews, shown.now),
        "uncertain": [operation.operation_id for operation in records.operations if in_doubt(operation)],
        "next_action": run_next(shown, run, records.operations, records.reviews, records.incidents, records.entries),
        "changed_since_approval": changed,
        "budgets": budgets_view(shown, run),
        "temporal": temporal_view(run),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "sequence": entry.sequence, "kind": entry.kind.value, "position": entry.position, "name": entry.name,
        "digest": f"sha256:{entry.digest.hex()}", "at": rfc3339(entry.at),
    }  # fmt: skip


def _conversation(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    return [
        {"sequence": message.sequence, "role": message.role, "text": message.text, "at": rfc3339(message.at)}
        for message in reader.find(MessageRecord, "run_id", run_id)
    ]


def _working_context(reader: Reader, run_id: str) -> list[dict[str, Any]]:
    return [
        {"name": d.name, "version": d.version, "digest": d.digest, "body": d.body, "at": rfc3339(d.at)}
        for d in reader.find(DocumentRecord, "run_id", run_id)
    ] + [
        {each: used[each] for each in ("name", "version", "digest", "body", "at")}
        for used in used_by(reader, run_id, [])
    ]


def _by_operation(rows: Iterable[T]) -> defaultdict[str, list[T]]:
    found: defaultdict[str, list[T]] = defaultdict(list)
    for row in rows:
        found[row.operation_id].append(row)
    return found
