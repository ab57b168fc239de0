"""RESTORE: how a restore was recognised, and what is left of it."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import operation_next
from counterfoil.app.views.shown import Shown
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.left_open import pages_of
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.installation import ContractRecord, IncidentRecord, InstallationRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import LookupRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.lost_history import answered_since
from counterfoil.store.marker import SENTENCES
from counterfoil.store.port import Reader

SHOWN = 50  # of the doubts, the first; all of them are counted


def restore_view(opened: Opened, reader: Reader) -> dict[str, Any]:
    """As `Restore.status` says."""
    installation = reader.installation
    reason = None if installation is None else installation.restore_reason
    state = None if installation is None else installation.restore_state
    said = {str(k): v for k, v in SENTENCES.items()}
    return {
        "recognised_by": reason,
        "sentence": None if reason is None else said.get(reason, "A person said so."),
        "suspended": state == "open",
        "adopted": reader.received.listed(),
        "orphans": reader.received.listed(orphans=True),
        "state": state,
        "restored_at": rfc3339(None if installation is None else installation.restore_at),
        "incarnation": 0 if installation is None else installation.incarnation,
        **_left(opened, reader, installation),
    }


def _left(opened: Opened, reader: Reader, installation: InstallationRecord | None) -> dict[str, Any]:
    """`{in_doubt, asked, unasked, not_askable, doubts}`, page by page."""
    counts = {"in_doubt": 0, "asked": 0, "unasked": 0, "not_askable": 0}
    can_ask: dict[str, bool] = {}
    shown: list[tuple[OperationRecord, Sequence[LookupRecord]]] = []
    for page in pages_of(reader):
        doubts = [operation for operation in page if in_doubt(operation)]
        looks = _looks(reader, doubts)
        for operation in doubts:
            asked = looks.get(operation.operation_id, [])
            counts["in_doubt"] += 1
            if not can_ask.setdefault(operation.contract_digest, _has_lookup(reader, operation.contract_digest)):
                counts["not_askable"] += 1
            elif installation is not None and answered_since(asked, installation):
                counts["asked"] += 1
            else:
                counts["unasked"] += 1
            if len(shown) < SHOWN:
                shown.append((operation, asked))
    around = Shown.of(opened, reader)
    return {**counts, "doubts": [_doubt(around, operation, asked) for operation, asked in shown]}


def _looks(reader: Reader, operations: Sequence[OperationRecord]) -> dict[str, list[LookupRecord]]:
    found: dict[str, list[LookupRecord]] = {}
    if operations:
        for look in reader.find(LookupRecord, "operation_id", *(each.operation_id for each in operations)):
            found.setdefault(look.operation_id, []).append(look)
    return found


def _has_lookup(reader: Reader, digest: str) -> bool:
    stored = reader.get(ContractRecord, digest)
    return stored is not None and parsed(stored.body).get("lookup") is not None


def _doubt(shown: Shown, operation: OperationRecord, asked: Sequence[LookupRecord]) -> dict[str, Any]:
    run = shown.reader.get(RunRecord, operation.run_id)
    assert run is not None, "an operation is of a run"
    reviews = shown.reader.find(ReviewRecord, "operation_id", operation.operation_id)
    incidents = shown.reader.find(IncidentRecord, "operation_id", operation.operation_id)
    newest = max(asked, key=lambda look: look.n, default=None)
    return {
        "operation_id": operation.operation_id, "number": operation.number, "run_id": operation.run_id,
        "operation": operation.name, "receiver": operation.receiver, "status": operation.status.value,
        "showed": None if newest is None else newest.result, "owner": operation.owner,
        "next_action": operation_next(shown, operation, run, reviews, incidents),
    }  # fmt: skip
