"""A contract as an operation shows it: its kind, its lookup, and when its key's window ends."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model import ids
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract
from counterfoil.model.installation import ContractRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.store.port import Reader


def contract_of(reader: Reader, digest: str) -> Contract | None:
    """The contract in its stored form, or None where it is not stored."""
    record = reader.get(ContractRecord, digest)
    return None if record is None else Contract.from_stored(parsed(record.body))


def contract_view(
    contract: Contract | None, operation: OperationRecord, attempts: Sequence[AttemptRecord]
) -> dict[str, Any]:
    """`{digest, kind, window_ends_at, lookup, procedure}`. `lookup` is its consistency, unknown where that is not said, None

    without one; `procedure` what a person does to find out, as the contract writes it.
    """
    lookup = None if contract is None or contract.lookup is None else contract.lookup.consistency or "unknown"
    return {
        "digest": operation.contract_digest,
        "kind": None if contract is None else kind_of(contract),
        "window_ends_at": None if contract is None else rfc3339(_window_end(contract, operation, attempts)),
        "lookup": lookup,
        "procedure": None if contract is None else contract.procedure,
    }


def kind_of(contract: Contract) -> str:
    """What makes a doubt solvable: key, create_if_absent, expected_version, lookup, or none."""
    if contract.key is not None:
        return "key"
    return contract.precondition or ("lookup" if contract.lookup is not None else "none")


def key_of(contract: Contract | None, operation: OperationRecord) -> str | None:
    """The key that the newest key number is sent under."""
    if contract is None or contract.key is None:
        return None
    return ids.encode_key(operation.operation_id, operation.key_number, contract.key.format)


def _window_end(contract: Contract, operation: OperationRecord, attempts: Sequence[AttemptRecord]) -> int | None:
    """Counted from the first send under the newest key, which is the earliest that any receiver may count from."""
    if contract.key is None:
        return None
    retention = contract.key.account_retention or contract.key.retention
    sent = [a.started_at for a in attempts if a.key_number == operation.key_number and a.sent]
    start = min(sent, default=operation.first_sent_at if operation.sent else None)
    if retention is None or start is None:
        return None
    return start + retention // timedelta(microseconds=1)
