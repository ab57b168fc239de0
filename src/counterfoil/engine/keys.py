"""Verbs about approval keys. `run_id` is the installation, whose chain tells who added or revoked which, and who vouched."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.access import ADMINISTER
from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.rules.signing import key_id_of, keys_of
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class AddKey(RunVerb):
    """Register a public key, vouched for by one that counts; the first of an installation needs nobody.

    Raises Refused(approval_key_unusable) where nobody vouches, or the key was revoked. A key that counts is left as it is.
    """

    public_key: str
    by: str
    signed_by: str | None = None
    signature: str | None = None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # from the first key on, unsigned approvals no longer count: a copy must not know less

    def reads(self) -> Sequence[Read]:
        return (Read.all(ApprovalKeyRecord), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> ApprovalKeyRecord:
        permitted(tx, self.by, ADMINISTER)
        key_id, known = key_id_of(self.public_key), tx.all(ApprovalKeyRecord)
        found = next((row for row in known if row.key_id == key_id), None)
        if found is not None and found.revoked_at is None:
            return found
        if found is not None:
            raise Refused(
                "approval_key_unusable", where=key_id, problem="it was revoked, and is never registered again"
            )
        added = ApprovalKeyRecord(key_id, self.public_key, self.by, tx.now, None, self.signed_by, self.signature)
        if key_id not in keys_of(self.run_id, [*known, added]).live:
            raise Refused("approval_key_unusable", where=key_id, problem="no key that counts vouches for it")
        tx.put(added)
        tx.append(
            self.run_id, EntryKind.APPROVAL_KEY, name=key_id,
            data={"key_id": key_id, "added": True, "by": self.by, "signed_by": self.signed_by},
        )  # fmt: skip
        return added


@dataclass(frozen=True, slots=True)
class RevokeKey(RunVerb):
    """Approvals signed by this key no longer count. A second call changes nothing. Raises Refused(not_found, last_approval_key)."""

    key_id: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.all(ApprovalKeyRecord), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> ApprovalKeyRecord:
        permitted(tx, self.by, ADMINISTER)
        known = tx.all(ApprovalKeyRecord)
        key = next((row for row in known if row.key_id == self.key_id), None)
        if key is None:
            raise Refused("not_found", what="approval key", id=self.key_id)
        if key.revoked_at is not None:
            return key
        if not keys_of(self.run_id, known).live.keys() - {self.key_id}:
            raise Refused("last_approval_key", key_id=self.key_id)
        revoked = replace(key, revoked_at=tx.now)
        tx.put(revoked)
        tx.append(
            self.run_id, EntryKind.APPROVAL_KEY, name=self.key_id,
            data={"key_id": self.key_id, "added": False, "by": self.by, "reason": self.reason},
        )  # fmt: skip
        return revoked
