"""A message of a receiver as people see it."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import next_of, nothing_left
from counterfoil.app.views.shown import Shown
from counterfoil.app.webhooks.taking import whole_body
from counterfoil.engine.opened import Opened
from counterfoil.model.delivery import DeliveryRecord, DeliveryState
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.store.port import Reader

_SAID = {
    DeliveryState.STORED: "It is stored and is matched within seconds.",
    DeliveryState.MATCHED: "It is a receipt of its operation.",
    DeliveryState.OTHER: "No contract names a message of its type; it is kept.",
}


def delivery_view(opened: Opened, reader: Reader, delivery: DeliveryRecord, *, whole: bool = True) -> dict[str, Any]:
    """DELIVERY, as `Receipts.list` says. `later`: it came after the operation was closed, and did not close it."""
    shown = Shown.of(opened, reader)
    operation = None if delivery.operation_id is None else reader.get(OperationRecord, delivery.operation_id)
    receipt = None if delivery.receipt_id is None else reader.get(ReceiptRecord, delivery.receipt_id)
    later = operation is not None and receipt is not None and operation.receipt_id != receipt.receipt_id
    return {
        "delivery_id": delivery.delivery_id,
        "number": delivery.number,
        "receiver": delivery.receiver,
        "own_id": delivery.own_id,
        "type": delivery.type,
        "state": delivery.state.value,
        "body": _body(opened, delivery) if whole else None,
        "body_digest": delivery.body_digest,
        "received_at": rfc3339(delivery.received_at),
        "seen": delivery.seen,
        "tries": delivery.tries,
        "next_at": rfc3339(delivery.next_at),
        "operation_id": delivery.operation_id,
        "run_id": None if operation is None else operation.run_id,
        "receipt_id": delivery.receipt_id,
        "later": later,
        "closed_at": rfc3339(delivery.closed_at),
        "closed_by": delivery.closed_by,
        "reason": delivery.reason,
        "next_action": _next(shown, delivery),
    }


def _body(opened: Opened, delivery: DeliveryRecord) -> dict[str, Any] | None:
    try:
        return whole_body(opened, delivery)
    except Refused:
        return None  # its file is gone; `doctor` says so


def _next(shown: Shown, delivery: DeliveryRecord) -> dict[str, Any]:
    if delivery.closed_at is not None:
        return nothing_left("A person has weighed it.")
    if delivery.state is not DeliveryState.ORPHAN:
        return nothing_left(_SAID[delivery.state])
    command = shown.command("receipts", "close", f"dlv-{delivery.number}")
    said = "It names no operation that we know. Find out what it is, then close it."
    return next_of("orphan", said, "operator", None, command, None)
