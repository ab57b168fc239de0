"""What stops sending: suspensions, and a restore that nobody has finished."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.restoring import open_operations
from counterfoil.model.installation import SuspensionRecord
from counterfoil.store.marker import SENTENCES
from counterfoil.store.port import Reader


def suspension_view(suspension: SuspensionRecord) -> dict[str, Any]:
    """`{scope, reason, by, at, lifted_at, lifted_by}`."""
    return {
        "scope": suspension.scope,
        "reason": suspension.reason,
        "by": suspension.by,
        "at": rfc3339(suspension.at),
        "lifted_at": rfc3339(suspension.lifted_at),
        "lifted_by": suspension.lifted_by,
    }


def restore_view(reader: Reader) -> dict[str, Any]:
    """`{recognised_by, sentence, suspended, in_doubt, adopted, state, restored_at, incarnation}`."""
    installation = reader.installation
    reason = None if installation is None else installation.restore_reason
    state = None if installation is None else installation.restore_state
    return {
        "recognised_by": reason,
        "sentence": None
        if reason is None
        else {str(k): v for k, v in SENTENCES.items()}.get(reason, "A person said so."),
        "suspended": state == "open",
        "in_doubt": sum(in_doubt(operation) for operation in open_operations(reader)),
        "adopted": 0,  # adopting what the receiver knows and the ledger does not is `restore reconcile`
        "state": state,
        "restored_at": rfc3339(None if installation is None else installation.restore_at),
        "incarnation": 0 if installation is None else installation.incarnation,
    }
