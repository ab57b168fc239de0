"""STATEMENT: what a provider's statement came to, and IMPORT: one that was kept."""

from typing import TYPE_CHECKING, Any

from counterfoil.app.views.amount import amount_view
from counterfoil.app.views.moments import rfc3339
from counterfoil.model.operation import OperationRecord
from counterfoil.model.statement import ImportRecord
from counterfoil.rules.statement_lines import Statement, StatementLine

if TYPE_CHECKING:
    from counterfoil.app.statement_import import Held, Imported, Result

LISTED = ("resolved", "not_resolved", "mismatch", "several", "theirs_not_ours")


def kept_import_view(record: ImportRecord) -> dict[str, Any]:
    """The IMPORT shape."""
    return {
        "import_id": record.import_id, "receiver": record.receiver, "file": record.name, "file_digest": record.file_digest,
        "by": record.by, "at": rfc3339(record.at), "lines": record.lines, "matched": record.matched,
        "resolved": record.resolved,
    }  # fmt: skip


def imported_view(import_id: str | None, said: "Imported", statement: Statement, held: "Held") -> dict[str, Any]:
    """The STATEMENT shape. `sound`: every line was read and is ours, and everything of ours is there."""
    by_kind: dict[str, list[dict[str, Any]]] = {kind: [] for kind in LISTED}
    matched = 0
    for line, result in held.results:
        if result.shown == "matched":
            matched += 1
        else:
            by_kind[result.shown].append(_line(line) | _found(result))
    missing = [_ours(operation) for operation in held.ours_not_theirs]
    unreadable = [{"line": each.line, "problem": each.problem} for each in statement.unreadable]
    wrong = [*(name for name in LISTED if name != "resolved" and by_kind[name]), *missing, *unreadable]
    return {
        "import_id": import_id, "file": said.file, "file_digest": said.file_digest or None, "receiver": said.receiver,
        "dry_run": said.dry_run, "lines": len(statement.lines), "skipped": statement.skipped, "matched": matched,
        **by_kind, "ours_not_theirs": missing, "unreadable": unreadable,
        "window": {"begins_at": rfc3339(held.begin), "ends_at": rfc3339(held.end)}, "sound": not wrong,
    }  # fmt: skip


def _line(line: StatementLine) -> dict[str, Any]:
    amount = None if line.minor is None else {"minor": line.minor, "currency": line.currency}
    return {"line": line.line, "reference": line.reference, "amount": amount, "at": rfc3339(line.begin)}


def _found(result: "Result") -> dict[str, Any]:
    found = [f"op-{operation.number}" for operation in result.operations]
    return {"operation_id": result.operation_id, "operations": found, "why": result.why, "code": result.code}


def _ours(operation: OperationRecord) -> dict[str, Any]:
    return {
        "operation_id": operation.operation_id, "number": operation.number, "operation": operation.name,
        "amount": amount_view(operation), "first_sent_at": rfc3339(operation.first_sent_at),
        "closed_at": rfc3339(operation.closed_at),
    }  # fmt: skip
