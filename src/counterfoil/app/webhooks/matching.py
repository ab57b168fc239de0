"""Whose operation a stored message is about: by our id, key or marker in it, else by a reference that we know."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterfoil.app.operations import target_here
from counterfoil.app.webhooks.taking import contracts_of, whole_body
from counterfoil.engine.deliveries import RecordDelivery, SetAside
from counterfoil.engine.opened import Opened
from counterfoil.engine.receipts import LONGEST_REFERENCE
from counterfoil.model.codec import storable
from counterfoil.model.delivery import DeliveryRecord, DeliveryState
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.rules.deliveries import Heard, heard
from counterfoil.store.port import Reader

MINUTE_US = 60 * 1_000_000
DAY_US = 24 * 60 * MINUTE_US
TRIED_FOR_US = 30 * DAY_US


@dataclass(frozen=True, slots=True)
class Matched:
    """The one operation that a message is about, and how it was read."""

    operation: OperationRecord
    heard: Heard


async def match(opened: Opened, delivery_id: str) -> DeliveryRecord:
    """Match a stored message now. Harmless twice, and on two workers at once: the commit decides. Gives it as it is then.

    What it proves is recorded, and the recovery table rules on it. Raises StorageError.
    """
    with opened.read() as reader:
        delivery = reader.get(DeliveryRecord, delivery_id)
    if delivery is None:
        raise Refused("not_found", what="delivery", id=delivery_id)
    if delivery.operation_id is not None:
        return delivery
    body = await asyncio.to_thread(whole_body, opened, delivery)
    readings = heard(contracts_of(opened, delivery.receiver), body)
    with opened.read() as reader:
        found = _matched(opened, reader, delivery, readings)
        target = None if found is None else target_here(opened, reader, found.operation)
    if found is None or target is None:
        state = DeliveryState.ORPHAN if readings else DeliveryState.OTHER
        return await opened.write(SetAside(opened.installation_id, delivery_id, state, _pause(opened, delivery)))
    reference = found.heard.reference or found.heard.own_id or delivery.own_id
    await opened.write(
        RecordDelivery(
            found.operation.run_id, target, delivery_id, storable(reference)[:LONGEST_REFERENCE], found.heard.proves
        )
    )
    with opened.read() as reader:
        return reader.get(DeliveryRecord, delivery_id) or delivery


def _matched(opened: Opened, reader: Reader, delivery: DeliveryRecord, readings: Sequence[Heard]) -> Matched | None:
    """Our own id decides before a reference. Two that fit are none."""
    for ways in (_by_our_id, _by_reference):
        fits = {
            operation.operation_id: Matched(operation, reading)
            for reading in readings
            for operation in ways(reader, reading)
            if _is_of(opened, operation, delivery.receiver)
        }
        if len(fits) == 1:
            return next(iter(fits.values()))
        if fits:
            return None
    return None


def _by_our_id(reader: Reader, reading: Heard) -> Iterable[OperationRecord]:
    found = (reader.get(OperationRecord, operation_id) for operation_id in sorted(reading.operation_ids))
    return [operation for operation in found if operation is not None]


def _by_reference(reader: Reader, reading: Heard) -> Iterable[OperationRecord]:
    if not reading.reference:
        return ()
    ids = {receipt.operation_id for receipt in reader.find(ReceiptRecord, "reference", reading.reference)}
    found = (reader.get(OperationRecord, operation_id) for operation_id in sorted(ids))
    return [operation for operation in found if operation is not None and operation.reused_from is None]


def _is_of(opened: Opened, operation: OperationRecord, receiver: str) -> bool:
    """A receiver speaks for its own operations alone, whatever ids it names."""
    declared = opened.registry.receivers.get(receiver)
    return operation.receiver == receiver and (declared is None or declared.environment == operation.environment)


def _pause(opened: Opened, delivery: DeliveryRecord) -> int | None:
    """It may have come before our own reply, or for what a restore is to bring back: after a minute, then ever more rarely."""
    if opened.clock.now_us() - delivery.received_at > TRIED_FOR_US:
        return None
    return min(MINUTE_US << min(delivery.tries, 12), DAY_US)
