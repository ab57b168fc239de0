"""Verbs of what a receiver sends by itself: stored first, then a receipt on which the recovery table rules, or an orphan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.advance import Advanced, advanced
from counterfoil.engine.situation import Target, operation_in
from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, digest_of, storable
from counterfoil.model.delivery import DeliveryRecord, DeliveryState
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

CLOSE = about_installation(Act.IMPORT_STATEMENT)  # who may bring a receiver's statement in may weigh its messages


@dataclass(frozen=True, slots=True)
class StoreDelivery(RunVerb):
    """Keep a message whose signature holds. `run_id` is the installation. Gives it, and whether it is new.

    The same bytes, and the same id of the message, are the same message: whoever replays it changes nothing. The bytes are
    compared first, since not every receiver signs the id.
    """

    receiver: str
    own_id: str
    type: str | None
    body: str
    body_digest: str
    boundary: ClassVar[str] = "installation.changed"

    @property
    def delivery_id(self) -> str:
        return ids.derived("dlv", self.receiver, self.own_id)

    def reads(self) -> Sequence[Read]:
        same_bytes = Read.by(DeliveryRecord, "body_digest", self.body_digest)
        return (Read.key(DeliveryRecord, self.delivery_id), same_bytes)

    def decide(self, tx: Transaction) -> tuple[DeliveryRecord, bool]:
        same = [d for d in tx.find(DeliveryRecord, "body_digest", self.body_digest) if d.receiver == self.receiver]
        known = same[0] if same else tx.get(DeliveryRecord, self.delivery_id)
        if known is not None:
            again = replace(known, seen=known.seen + 1)
            tx.put(again)
            return again, False
        stored = DeliveryRecord(
            self.delivery_id, tx.number("delivery"), self.receiver, self.own_id, self.type, self.body, self.body_digest,
            tx.now, None, None, None, None, None, DeliveryState.STORED, tx.now,
        )  # fmt: skip
        tx.put(stored)
        said = {"delivery_id": stored.delivery_id, "own_id": self.own_id, "body_digest": self.body_digest}
        tx.append(self.run_id, EntryKind.DELIVERED, name=self.receiver, data=said)
        return stored, True


@dataclass(frozen=True, slots=True)
class RecordDelivery(RunVerb):
    """A stored message as evidence about one operation. Done twice it changes nothing.

    The table rules on it as on any other evidence: it closes a doubt, speaks against what is closed, or comes later. `proves`
    is first_result, existence, or current_state of what became of it later.
    """

    target: Target
    delivery_id: str
    reference: str
    proves: str
    boundary: ClassVar[str] = "operation.resolved"
    sends: ClassVar[bool] = True  # it may forbid a send that a restored copy would otherwise make

    def reads(self) -> Sequence[Read]:
        return (*self.target.reads(), Read.key(DeliveryRecord, self.delivery_id))

    def decide(self, tx: Transaction) -> Advanced:
        operation = operation_in(tx, self.target)
        delivery = tx.must(DeliveryRecord, self.delivery_id)
        if delivery.operation_id is not None:
            return advanced(tx, self.target, operation)
        told = {"delivery_id": delivery.delivery_id, "type": delivery.type, "own_id": delivery.own_id}
        body = compact(storable({"reference": self.reference, "webhook": told}))
        digest = digest_of(body.encode())
        receipt_id = ids.receipt_id(operation.operation_id, "webhook", digest)
        tx.put(
            ReceiptRecord(
                receipt_id, operation.operation_id, self.run_id, None, "webhook", self.reference, body, digest, self.proves,
                tx.now,
            )
        )  # fmt: skip
        matched = replace(delivery, operation_id=operation.operation_id, receipt_id=receipt_id)
        tx.put(replace(matched, state=DeliveryState.MATCHED, next_at=None, tries=delivery.tries + 1))
        tx.append(
            self.run_id, EntryKind.DELIVERED, name=operation.name,
            data={
                "operation_id": operation.operation_id, "delivery_id": delivery.delivery_id, "type": delivery.type,
                "reference": self.reference, "proves": self.proves, "later": operation.status.closed,
            },
        )  # fmt: skip
        return advanced(tx, self.target, operation)


@dataclass(frozen=True, slots=True)
class SetAside(RunVerb):
    """Nothing of ours is named, or no contract names its type: seen, and looked at again later. `run_id` is the installation."""

    delivery_id: str
    state: DeliveryState
    again_us: int | None  # after so long it is matched again; None: no more
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(DeliveryRecord, self.delivery_id),)

    def decide(self, tx: Transaction) -> DeliveryRecord:
        delivery = tx.must(DeliveryRecord, self.delivery_id)
        if delivery.operation_id is not None:
            return delivery  # another worker was quicker, and found it
        next_at = None if self.again_us is None or delivery.closed_at is not None else tx.now + self.again_us
        aside = replace(delivery, state=self.state, next_at=next_at, tries=delivery.tries + 1)
        tx.put(aside)
        return aside


@dataclass(frozen=True, slots=True)
class CloseDelivery(RunVerb):
    """A person has weighed an orphan: it is nothing of ours. `run_id` is the installation. Raises Refused(not_orphan)."""

    delivery_id: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(DeliveryRecord, self.delivery_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> DeliveryRecord:
        delivery = tx.must(DeliveryRecord, self.delivery_id)
        permitted(tx, self.by, CLOSE)
        if delivery.state is not DeliveryState.ORPHAN or delivery.closed_at is not None:
            raise Refused("not_orphan", number=delivery.number, state=delivery.state.value)
        closed = replace(delivery, closed_at=tx.now, closed_by=self.by, reason=self.reason, next_at=None)
        tx.put(closed)
        said = {"delivery_id": delivery.delivery_id, "as": "orphan", "by": self.by, "reason": self.reason}
        tx.append(self.run_id, EntryKind.IMPORTED, name=f"dlv-{delivery.number}", data=said)
        return closed
