"""Records that a receiver holds under our number, and that a restored ledger does not know: evidence for whoever is planned again.

A record found by a listing is kept as what the receiver showed by itself: an orphan, until its operation is planned anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.codec import compact, digest_of, parsed
from counterfoil.model.delivery import LISTED, DeliveryRecord, DeliveryState
from counterfoil.model.errors import Refused
from counterfoil.model.installation import BusinessKeyRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def adopted_id(operation_id: str) -> str:
    """The delivery under which what was listed for this operation is kept."""
    return ids.derived("dlv", LISTED, operation_id)


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """What a listing showed. `business_key` is the joined one, None where the content does not show; so is `digest`."""

    operation_id: str
    reference: str
    digest: str | None
    receipt: Any
    business_key: str | None


@dataclass(frozen=True, slots=True)
class Adopt(RunVerb):
    """Keep what this ledger does not know. `run_id` is the installation. Gives how many were new; done twice it changes nothing.

    The business key is held for the lost operation, so that nobody takes its intention for free. Raises Refused(no_restore).
    """

    receiver: str
    name: str
    records: tuple[ListedRecord, ...]
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # it forbids a send that a restored copy would otherwise make

    def reads(self) -> Sequence[Read]:
        reads: list[Read] = []
        for each in self.records:
            reads += [
                Read.key(OperationRecord, each.operation_id),
                Read.key(DeliveryRecord, adopted_id(each.operation_id)),
            ]
            if each.business_key is not None:
                reads.append(Read.by(BusinessKeyRecord, "business_key", each.business_key))
        return reads

    def decide(self, tx: Transaction) -> int:
        if tx.installation.restore_state != "open":
            raise Refused("no_restore")
        return sum(self._kept(tx, each) for each in self.records)

    def _kept(self, tx: Transaction, found: ListedRecord) -> bool:
        if tx.get(OperationRecord, found.operation_id) is not None:
            return False  # it is asked about by itself
        delivery_id = adopted_id(found.operation_id)
        if tx.get(DeliveryRecord, delivery_id) is not None:
            return False
        body = compact(
            {
                "operation": self.name, "operation_id": found.operation_id, "reference": found.reference,
                "digest": found.digest, "receipt": found.receipt, "business_key": found.business_key,
            }
        )  # fmt: skip
        digest = digest_of(body.encode())
        tx.put(
            DeliveryRecord(
                delivery_id, tx.number("delivery"), self.receiver, found.reference, LISTED, body, digest, tx.now,
                None, None, None, None, None, DeliveryState.ORPHAN, None,
            )
        )  # fmt: skip
        if found.business_key is not None and found.digest is not None:
            known = tx.find(BusinessKeyRecord, "business_key", found.business_key)
            if all(held.held_until is not None and held.held_until <= tx.now for held in known):
                tx.put(BusinessKeyRecord(found.business_key, found.operation_id, found.digest, len(known), None))
        said = {"delivery_id": delivery_id, "own_id": found.reference, "body_digest": digest}
        tx.append(
            self.run_id, EntryKind.DELIVERED, name=self.receiver, data=said | {"operation_id": found.operation_id}
        )
        return True


def taken_in(tx: Transaction, operation: OperationRecord) -> OperationRecord:
    """What was listed for this operation before it was planned anew, as a look that found it: it was sent, and the table rules."""
    delivery = tx.get(DeliveryRecord, adopted_id(operation.operation_id))
    if delivery is None or not waits(delivery) or operation.status.closed:
        return operation
    listed: dict[str, Any] = parsed(delivery.body)
    n = len(tx.find(LookupRecord, "operation_id", operation.operation_id)) + 1
    # It bears our own number, so it is this operation's; other content is somebody else's words under it.
    same = listed["digest"] in (None, operation.payload_digest)
    found = [{name: listed[name] for name in ("reference", "digest", "receipt")}]
    look = LookupRecord(
        ids.derived("look", operation.operation_id, str(n)), operation.operation_id, operation.run_id, n,
        delivery.received_at, "match" if same else "mismatch", 0, compact(found), operation.attempts,
    )  # fmt: skip
    tx.put(look)
    tx.put(replace(delivery, operation_id=operation.operation_id, state=DeliveryState.MATCHED))
    head_at = tx.installation.restored_head_at or delivery.received_at
    sent = replace(operation, version=operation.version + 1, sent=1, first_sent_at=operation.first_sent_at or head_at)
    tx.put(sent)
    said = {"operation_id": operation.operation_id, "result": look.result, "complete": False, "problem": None}
    tx.append(
        operation.run_id, EntryKind.LOOKED_UP, name=operation.name, data=said | {"delivery_id": delivery.delivery_id}
    )
    return sent


def answered_by(tx: Transaction, operation: OperationRecord, first_id: str, key: str) -> OperationRecord | None:
    """Another identity carries this intention, and only its record is known: it is the answer, and the key is this operation's now.

    None where a person has said that the record is nothing of ours, or another operation has it.
    """
    delivery = tx.get(DeliveryRecord, adopted_id(first_id))
    if delivery is None or not waits(delivery):
        return None
    listed: dict[str, Any] = parsed(delivery.body)
    body = compact(listed["receipt"])
    digest = digest_of(body.encode())
    receipt = ReceiptRecord(
        ids.receipt_id(operation.operation_id, "lookup", digest), operation.operation_id, operation.run_id, None, "lookup",
        listed["reference"], body, digest, "current_state", delivery.received_at,
    )  # fmt: skip
    tx.put(receipt)
    tx.put(
        replace(
            delivery,
            operation_id=operation.operation_id,
            receipt_id=receipt.receipt_id,
            state=DeliveryState.MATCHED,
        )
    )
    for held in tx.find(BusinessKeyRecord, "business_key", key):
        if held.operation_id == first_id:
            tx.put(replace(held, operation_id=operation.operation_id))
    return replace(
        operation,
        version=operation.version + 1,
        status=OperationStatus.SUCCEEDED,
        reused_from=None,
        receipt_id=receipt.receipt_id,
        closed_at=tx.now,
        sent=1,
        first_sent_at=tx.installation.restored_head_at or delivery.received_at,
    )


def waits(delivery: DeliveryRecord) -> bool:
    """Nobody has it yet, and no person has said that it is nothing of ours."""
    return delivery.operation_id is None and delivery.closed_at is None
