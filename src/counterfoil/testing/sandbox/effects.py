"""Effects: the records that accepted writes leave, and what happens when the object exists already."""

from dataclasses import dataclass, replace

from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.loopback.exchange import Reply, error_reply
from counterfoil.testing.sandbox.answers import existing, mismatch
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.keys import body_under_key
from counterfoil.testing.sandbox.records import Record, Records, timestamp
from counterfoil.testing.sandbox.writes import Write


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write came to. `made` is False when the object existed before it."""

    reply: Reply
    place: str | None
    made: bool = False


class Effects:
    """Makes records by the contract. Not thread-safe."""

    def __init__(self, contract: SandboxContract, records: Records) -> None:
        self._contract = contract
        self._records = records

    def make(self, write: Write, identity: str | None, now: float, *, status: int = 201) -> Effect:
        """Have the effect of a write, once the key store has nothing to say. A status of 500 hides it in the reply."""
        chosen = self._chosen_id(write)
        same = self._same_object(write, chosen)
        if same is not None:
            effect = self.upon(same, write)
            return effect if status < 400 else replace(effect, reply=Reply(status, body_under_key(status, {})))
        record = Record(
            id=chosen or self._records.next_id(write.path),
            reference=write.reference,
            key=write.key,
            payload_digest=write.digest,
            at=timestamp(now),
            at_seconds=now,
            method=write.method,
            path=write.path if chosen is None else _collection(write.path),
            payload=write.payload,
            form=write.form,
            identity=identity,
            status=status,
        )
        self._records.add(record)
        return Effect(Reply(status, body_under_key(status, record.shown())), record.place, made=True)

    def upon(self, record: Record, write: Write) -> Effect:
        """A write for an object that exists: refused, overwritten, or answered as it is."""
        if write.create_only:
            return Effect(error_reply(412, "exists", f"{record.id} exists"), record.place)
        if record.payload_digest != write.digest:
            if self._contract.other_body == "rejects":
                return Effect(mismatch(self._contract), record.place)
            if self._contract.other_body == "overwrites":
                record = replace(record, payload=write.payload, form=write.form, payload_digest=write.digest)
                self._records.replace(record)
        return Effect(existing(self._contract, record), record.place)

    def _same_object(self, write: Write, chosen: str | None) -> Record | None:
        if chosen is not None:
            return self._records.get(write.path)  # With a chosen id, the path of the write is the object's place.
        name = self._contract.unique_field
        value = None if name is None else as_object(write.payload).get(name)
        if name is None or value is None:
            return None
        return next((record for record in self._records if _field(record, write.path, name) == value), None)

    def _chosen_id(self, write: Write) -> str | None:
        if write.object_id is None and self._contract.client_id and write.method == "PUT":
            return write.path.rpartition("/")[2]
        return write.object_id


def _field(record: Record, path: str, name: str) -> object:
    return as_object(record.payload).get(name) if record.path == path else None


def _collection(path: str) -> str:
    return path.rpartition("/")[0] or "/"
