"""The answers that depend on the contract alone: to a known key, to other content, to what exists."""

from counterfoil.testing.loopback.exchange import Reply
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.keys import KeyEntry
from counterfoil.testing.sandbox.records import Record


def marker(contract: SandboxContract) -> dict[str, str]:
    """The header that says "this is a repeat", if the contract has it."""
    return {"idempotent-replayed": "true"} if contract.replay_marker else {}


def replay(contract: SandboxContract, entry: KeyEntry, record: Record | None) -> Reply:
    """The answer to a repeat whose first answer is kept. Without a record only the stored answer is left."""
    if record is None or contract.replay == "stored":
        return Reply(entry.status or 500, entry.body, marker(contract))
    if contract.replay == "acknowledges":
        return Reply(202, {"status": "accepted", "duplicate": True}, marker(contract))
    return existing(contract, record)


def existing(contract: SandboxContract, record: Record) -> Reply:
    """The answer to a request for what exists already: the object of today, or a conflict that means "it exists"."""
    if contract.replay == "conflicts":
        return Reply(409, {"error": {"type": "already_exists", "code": "already_exists", "id": record.id}})
    return Reply(200, record.shown(), marker(contract))


def mismatch(contract: SandboxContract) -> Reply:
    """The refusal of a known key, or object, with another body."""
    error = {
        "type": "idempotency_error",
        "code": "key_mismatch",
        "message": "the same key or id came with another body",
    }
    return Reply(contract.mismatch_status, {"error": error})
