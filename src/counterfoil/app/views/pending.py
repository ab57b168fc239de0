"""What a run waits for, and what it has established."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState

KINDS = frozenset({"decision", "attempt", "timer", "review", "signal", "child", "slot"})


def pending_view(
    run: RunRecord,
    entries: Sequence[Entry],
    attempts: Sequence[AttemptRecord],
    reviews: Sequence[ReviewRecord],
    now: int,
) -> list[dict[str, Any]]:
    """`[{kind, id, since_at, deadline_at}]`: what the last execution waited for, or what is under way."""
    if run.state.ended:
        return []
    if run.after_run_id is not None:
        return queued_view(run)
    if run.state is RunState.WAITING or (run.state is RunState.PENDING and run.held_for is not None):
        suspended = next((entry for entry in reversed(entries) if entry.kind is EntryKind.SUSPENDED), None)
        waits: list[dict[str, Any]] = [] if suspended is None else parsed(suspended.body)["data"]["waits"]
        return [_pending(_kind(wait["kind"]), wait["id"], wait["since_at"], wait["deadline_at"]) for wait in waits]
    under_way = [
        _pending("attempt", attempt.attempt_id, attempt.started_at, attempt.deadline_at)
        for attempt in attempts
        if attempt.ended_at is None and attempt.deadline_at > now
    ]
    asked = [_pending("review", r.review_id, r.opened_at, r.expires_at) for r in reviews if r.state is ReviewState.OPEN]
    return _decisions(entries) + under_way + asked


def queued_view(run: RunRecord) -> list[dict[str, Any]]:
    """What a queued turn waits for: the end of the turn before it. Nothing for any other run."""
    if run.after_run_id is None or run.state.ended:
        return []
    return [_pending("turn", run.after_run_id, run.created_at, run.deadline_at)]


def established_view(entries: Sequence[Entry], operations: Sequence[OperationRecord]) -> list[dict[str, Any]]:
    """`[{what, at, evidence}]` in the order of the journal. `evidence`: the digest of the entry, a review or a receipt."""
    numbers = {operation.operation_id: operation for operation in operations}
    found: list[dict[str, Any]] = []
    for entry in entries:
        said = _said(entry, numbers)
        if said is not None:
            what, evidence = said
            found.append(
                {"what": what, "at": rfc3339(entry.at), "evidence": evidence or f"sha256:{entry.digest.hex()}"}
            )
    return found


def _kind(kind: str) -> str:
    """A run that waits for a receiver waits for what one of its attempts has done there."""
    return kind if kind in KINDS else "attempt"


def _pending(kind: str, id_: str, since: int, deadline: int | None) -> dict[str, Any]:
    return {"kind": kind, "id": id_, "since_at": rfc3339(since), "deadline_at": rfc3339(deadline)}


def _decisions(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Model calls that were asked and have neither a decision nor a failed try behind them."""
    asked: dict[str, Entry] = {}
    for entry in entries:
        if entry.position is None:
            continue
        if entry.kind is EntryKind.ASKED:
            asked[entry.position] = entry
        elif entry.kind in (EntryKind.DECISION, EntryKind.TRY_FAILED, EntryKind.STEP_FAILED, EntryKind.LOST):
            asked.pop(entry.position, None)
    return [_pending("decision", position, entry.at, None) for position, entry in asked.items()]


def _said(entry: Entry, operations: dict[str, OperationRecord]) -> tuple[str, str | None] | None:
    """What an entry establishes, and which record shows it. None: it establishes nothing."""
    match entry.kind:
        case EntryKind.STEP:
            return f"step {entry.name} has a result", None
        case EntryKind.STEP_FAILED:
            return f"step {entry.name} failed for good", None
        case EntryKind.DECISION:
            return f"{entry.name} is decided", None
        case EntryKind.RECEIVED:
            return f"{entry.name} arrived", None
        case EntryKind.FINISHED:
            return f"the run ended {entry.name}", None
        case EntryKind.PROPOSAL | EntryKind.PREPARED | EntryKind.ANSWER | EntryKind.CLOSED | EntryKind.RESOLVED:
            return _about_operation(entry, operations)
        case _:
            return None


def _about_operation(entry: Entry, operations: dict[str, OperationRecord]) -> tuple[str, str | None] | None:
    data = parsed(entry.body)["data"]
    operation = operations.get(data["operation_id"])
    number = "operation" if operation is None else f"op-{operation.number}"
    if entry.kind is EntryKind.PROPOSAL:
        return f"draft {data['version']} of {number} ({entry.name}) is {data['digest']}", None
    if entry.kind is EntryKind.PREPARED:
        return f"{number} ({entry.name}) is prepared with draft {data['version']}", None
    if entry.kind is EntryKind.CLOSED:
        return f"{number} ({entry.name}) {data['status']}", None if operation is None else operation.receipt_id
    if entry.kind is EntryKind.RESOLVED:
        alone = ", in an installation of a single person" if data["single_person"] else ""
        return f"{data['by']} resolved {number} as {data['as']}{alone}", data["evidence_digest"]
    if data["matched"] != "now":
        return None
    decided = {"approve": "approved", "reject": "rejected"}[data["decision"]]
    return f"{data['person']} {decided} draft {data['version']} of {number}", data["review_id"]
