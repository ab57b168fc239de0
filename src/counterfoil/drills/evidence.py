"""Everything a verdict is taken from: what was planned and done, what the ledger says, and what the receivers hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from counterfoil.drills.case import Applied, Planned
from counterfoil.drills.learning import LearnedOperation
from counterfoil.drills.seen import Seen

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """By a receiver's own account: its records of this case, and the writes that reached it."""

    records: Sequence[Row] = ()
    writes: Sequence[Row] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`held`: by receiver. `operations`: what was learned of each, by name. `request_id`: what the case submitted."""

    planned: Planned
    applied: Applied
    seen: Seen
    held: Mapping[str, Held]
    request_id: str
    operations: Mapping[str, LearnedOperation] = field(default_factory=dict[str, LearnedOperation])

    @property
    def run(self) -> Row | None:
        """The run that the case is about."""
        return next(iter(self.runs), None)

    @property
    def runs(self) -> list[Row]:
        """The runs of the request id; there must be one."""
        wanted = (self.planned.workflow, self.request_id)
        return [run for run in self.seen.runs if (run["workflow"], run["request_id"]) == wanted]

    @property
    def restored(self) -> bool:
        """Whether this database knows that it may lack what was written since."""
        return self.seen.restore.get("recognised_by") is not None

    def owner_of(self, found: Row) -> Row | None:
        """The operation that a record or a write of a receiver belongs to: by our reference, our key, or its receipt."""
        by_reference = {operation["operation_id"]: operation for operation in self.seen.operations}
        by_key = {
            a["idempotency_key"]: by_reference.get(a["operation_id"])
            for a in self.seen.attempts
            if a["idempotency_key"]
        }
        by_key |= {o["idempotency_key"]: o for o in self.seen.operations if o["idempotency_key"]}
        by_receipt = {
            receipt["reference"]: operation
            for operation in self.seen.operations
            for receipt in operation["receipts"]
            if not operation["reused"]
        }
        id_ = found.get("id", found.get("record_id"))
        return by_reference.get(found.get("reference")) or by_key.get(found.get("key")) or by_receipt.get(id_)

    def records(self) -> Iterator[tuple[str, Row, Row | None]]:
        """(receiver, record, the operation it belongs to) of every record."""
        for receiver, held in self.held.items():
            for record in held.records:
                yield receiver, record, self.owner_of(record)

    def records_of(self, operation: Row) -> list[Row]:
        """What the receiver holds of one operation."""
        id_ = operation["operation_id"]
        return [record for _, record, owner in self.records() if owner is not None and owner["operation_id"] == id_]

    def nameless(self, receiver: str) -> list[Row]:
        """Its records that carry neither our reference nor a key, and are named by no receipt."""
        records = self.held[receiver].records
        return [record for record in records if not is_named(record) and self.owner_of(record) is None]

    def unnamed(self, receiver: str, shown: Sequence[Row]) -> list[Row]:
        """The operations that were sent there, and that none of these records (or writes) of it names."""
        owners = [self.owner_of(found) for found in shown if is_named(found)]
        named = {owner["operation_id"] for owner in owners if owner is not None}
        sent = {attempt["operation_id"] for attempt in self.seen.attempts} - named
        return [o for o in self.seen.operations if o["receiver"] == receiver and o["operation_id"] in sent]

    def open_incident(self, operation: Row) -> bool:
        """Whether somebody is being asked what became of it."""
        open_ = [incident for incident in self.seen.incidents if incident["closed_at"] is None]
        key = operation["business_key"]
        return any(
            i["operation_id"] == operation["operation_id"] or (key is not None and i["business_key"] == key)
            for i in open_
        )

    def entries(self, kind: str, operation: Row) -> list[Row]:
        """The entries of a kind that speak of one operation, in order."""
        return [
            entry
            for entry in self.seen.entries
            if entry["kind"] == kind and entry["data"].get("operation_id") == operation["operation_id"]
        ]


def is_named(found: Row) -> bool:
    """Whether a record or a write carries a reference or a key."""
    return found.get("reference") is not None or found.get("key") is not None
