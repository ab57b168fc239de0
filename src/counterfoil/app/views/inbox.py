"""ITEM: one thing that needs a person, with its next allowed action."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.approval import shown_key
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import answer_review, close_incident, nothing_left, parked_next
from counterfoil.app.views.run_next import run_next
from counterfoil.app.views.shown import Shown
from counterfoil.model.inbox import CommentRecord
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.inbox import InboxCount, InboxRow
from counterfoil.store.port import Reader

NEWEST_ENTRIES = 50  # a run that waits has said what for among its newest


@dataclass(frozen=True, slots=True)
class Rows:
    """The records of a page of things, one query per table."""

    operations: dict[str, list[OperationRecord]]
    incidents: dict[str, list[IncidentRecord]]

    @staticmethod
    def of(reader: Reader, rows: Sequence[InboxRow]) -> "Rows":
        """Reviews need neither."""
        runs = sorted({row.run_id for row in rows if row.kind != "review"})
        operations: defaultdict[str, list[OperationRecord]] = defaultdict(list)
        incidents: defaultdict[str, list[IncidentRecord]] = defaultdict(list)
        if runs:
            for operation in reader.find(OperationRecord, "run_id", *runs):
                operations[operation.run_id].append(operation)
            for incident in reader.find(IncidentRecord, "run_id", *runs):
                incidents[incident.run_id].append(incident)
        return Rows(operations, incidents)


def items_view(shown: Shown, rows: Sequence[InboxRow]) -> list[dict[str, Any]]:
    """The things of one page."""
    around = Rows.of(shown.reader, rows)
    return [item_view(shown, row, around) for row in rows]


def item_view(shown: Shown, row: InboxRow, around: Rows) -> dict[str, Any]:
    """The ITEM shape of the command line. Its age counts from when it began to need a person."""
    following = _next(shown, row, around)
    known = row.amount_minor is not None and row.currency is not None
    return {
        "subject": row.subject,
        "kind": row.kind,
        "number": row.number,
        "run_id": row.run_id,
        "run_number": row.run_number,
        "workflow": row.workflow,
        "request_id": row.request_id,
        "operation_id": row.operation_id,
        "operation_number": row.operation_number,
        "operation": row.operation,
        "receiver": row.receiver,
        "business_key": shown_key(row.business_key),
        "target": row.target,
        "amount": {"minor": row.amount_minor, "currency": row.currency} if known else None,
        "reason": row.reason,
        "role": row.role,
        "owner": row.owner,
        "owner_then": row.owner_then,
        "since_at": rfc3339(row.since_at),
        "age_seconds": max(0, shown.now - row.since_at) // 1_000_000,
        "deadline_at": rfc3339(row.deadline_at),
        "overdue": row.deadline_at <= shown.now,
        "sentence": following["sentence"],
        "next_action": following,
        "taken_by": row.taken_by,
        "snoozed_until": rfc3339(row.snoozed_until),
        "snooze_reason": row.snooze_reason if row.snoozed_until is not None else None,
        "escalated_to": row.escalated_to,
        "comments": row.comments,
    }


def counts_view(counts: Sequence[InboxCount]) -> dict[str, Any]:
    """`{total, overdue, snoozed, reasons: [{reason, count, overdue}]}`; what was put off is in `snoozed` alone."""
    return {
        "total": sum(each.waiting for each in counts),
        "overdue": sum(each.overdue for each in counts),
        "snoozed": sum(each.snoozed for each in counts),
        "reasons": [
            {"reason": each.reason, "count": each.waiting, "overdue": each.overdue} for each in counts if each.waiting
        ],
    }


def comment_view(comment: CommentRecord) -> dict[str, Any]:
    """`{comment_id, person, text, at}`."""
    return {
        "comment_id": comment.comment_id,
        "person": comment.person,
        "text": comment.text,
        "at": rfc3339(comment.at),
    }


def _next(shown: Shown, row: InboxRow, around: Rows) -> dict[str, Any]:
    if row.kind == "review":
        review = shown.reader.get(ReviewRecord, row.subject)
        assert review is not None, "the row is of this snapshot"
        return answer_review(shown, review)
    run = shown.reader.get(RunRecord, row.run_id)
    assert run is not None, "the row is of this snapshot"
    operations, incidents = around.operations[row.run_id], around.incidents[row.run_id]
    if row.kind == "incident":
        return _weigh(shown, row, run, operations, incidents)
    if run.state is RunState.PARKED:
        return parked_next(shown, run, operations, incidents)
    entries = shown.reader.entries(run.run_id, after=max(-1, run.sequence - NEWEST_ENTRIES))
    reviews = shown.reader.find(ReviewRecord, "run_id", run.run_id)
    return run_next(shown, run, operations, reviews, incidents, entries)


def _weigh(
    shown: Shown,
    row: InboxRow,
    run: RunRecord,
    operations: Sequence[OperationRecord],
    incidents: Sequence[IncidentRecord],
) -> dict[str, Any]:
    incident = next(each for each in incidents if each.incident_id == row.subject)
    operation = next((each for each in operations if each.operation_id == incident.operation_id), None)
    if operation is None:
        return nothing_left("Its operation is not in this database.")
    return close_incident(shown, incident, operation, run)
