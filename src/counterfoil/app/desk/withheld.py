"""Records of a kind that the person may not read: null in their place, and named under `withheld`."""

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.app.desk.sight import Look
from counterfoil.model.access import RecordKind
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord

Reads = Callable[[RecordKind], bool]

_RUN = {"result": RecordKind.PAYLOADS, "failure": RecordKind.PAYLOADS, "changed_since_approval": RecordKind.APPROVALS}
_RECORDS = {
    "conversation": RecordKind.CONVERSATION,
    "working_context": RecordKind.WORKING_CONTEXT,
    "receipts": RecordKind.RECEIPTS,
    "approvals": RecordKind.APPROVALS,
}
_OPERATION = {
    "receipts": RecordKind.RECEIPTS,
    "approval": RecordKind.APPROVALS,
    "target": RecordKind.PAYLOADS,
    "amount": RecordKind.PAYLOADS,
}
_REVIEW = {
    "payload": RecordKind.PAYLOADS,
    "target": RecordKind.PAYLOADS,
    "amount": RecordKind.PAYLOADS,
    "sources": RecordKind.DOCUMENTS,
    "answers": RecordKind.APPROVALS,
    "comment": RecordKind.APPROVALS,
    "reviewer": RecordKind.APPROVALS,
}

ENTRY_KINDS: dict[str, RecordKind] = {
    kind.value: read
    for read, kinds in {
        RecordKind.CONVERSATION: (EntryKind.MESSAGE,),
        RecordKind.WORKING_CONTEXT: (EntryKind.DOCUMENT,),
        RecordKind.DECISIONS: (EntryKind.ASKED, EntryKind.DECISION, EntryKind.LOST),
        RecordKind.PAYLOADS: (
            EntryKind.SUBMITTED, EntryKind.STEP, EntryKind.STEP_FAILED, EntryKind.TRY_FAILED, EntryKind.PROPOSAL,
            EntryKind.PREPARED, EntryKind.SIGNAL, EntryKind.RECEIVED, EntryKind.CHILD, EntryKind.PARKED,
            EntryKind.FINISHED,
        ),
        RecordKind.RECEIPTS: (
            EntryKind.IN_FLIGHT, EntryKind.CLASSIFIED, EntryKind.LOOKED_UP, EntryKind.LATE, EntryKind.CLOSED,
            EntryKind.RESOLVED, EntryKind.INCIDENT_CLOSED,
        ),
        RecordKind.APPROVALS: (EntryKind.REVIEW, EntryKind.ANSWER, EntryKind.WITHDRAWN, EntryKind.EXPIRED),
    }.items()
    for kind in kinds
}  # fmt: skip
"""By an entry's kind: which kind of record its data belong to. The others say only that something was done, and by whom."""


def without(view: dict[str, Any], kinds: Mapping[str, RecordKind], reads: Reads) -> dict[str, Any]:
    """The view with null for each field whose kind is not read; `withheld` names the kinds, in order."""
    hidden = {name: kind for name, kind in kinds.items() if name in view and not reads(kind)}
    known = {*view.get("withheld", ()), *(kind.value for kind in hidden.values())}
    return view | dict.fromkeys(hidden) | {"withheld": sorted(known)}


def run_withheld(look: Look, run: RunRecord, view: dict[str, Any]) -> dict[str, Any]:
    """RUN, with or without its records. An operation in it is withheld by what is read of that operation."""

    def reads(kind: RecordKind) -> bool:
        return look.reads_run(kind, run)

    view = without(view, _RUN, reads)
    if "records" not in view:
        return view
    records = without(view["records"], _RECORDS, reads)
    hidden = {*view["withheld"], *records.pop("withheld")}
    operations: list[dict[str, Any]] = []
    for each in records["operations"]:
        operation, _ = look.operation_of(each["operation_id"])
        shown = operation_withheld(look, operation, run, each)
        hidden |= set(shown["withheld"])
        operations.append(shown)
    return view | {"records": records | {"operations": operations}, "withheld": sorted(hidden)}


def operation_withheld(look: Look, operation: OperationRecord, run: RunRecord, view: dict[str, Any]) -> dict[str, Any]:
    """OPERATION."""
    return without(view, _OPERATION, lambda kind: look.reads_operation(kind, operation, run))


def review_withheld(look: Look, operation: OperationRecord, run: RunRecord, view: dict[str, Any]) -> dict[str, Any]:
    """REVIEW, with or without its payload."""
    return without(view, _REVIEW, lambda kind: look.reads_operation(kind, operation, run))


def timeline_without(view: dict[str, Any], reads: Reads) -> dict[str, Any]:
    """A run's time. What the bars of decisions quote belongs to decisions, what the others quote to payloads."""
    hidden: set[str] = set()
    lanes: list[dict[str, Any]] = []
    for lane in view["lanes"]:
        kind = RecordKind.DECISIONS if lane["name"] == "decisions" else RecordKind.PAYLOADS
        bars = lane["bars"] if reads(kind) else [bar | {"detail": None} for bar in lane["bars"]]
        hidden |= set() if reads(kind) else {kind.value}
        lanes.append(lane | {"bars": bars})
    return view | {"lanes": lanes, "withheld": sorted(hidden)}
