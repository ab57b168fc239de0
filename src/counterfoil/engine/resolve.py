"""A person closes a doubt, with evidence and a reason, over the version that was seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import check_not_approver, permitted
from counterfoil.engine.advance import Advanced, advanced
from counterfoil.engine.situation import Target, check_version, operation_in, situation_in
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.installation import BusinessKeyRecord, IncidentRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules.gather import gather
from counterfoil.rules.recovery_facts import Attempt, Key
from counterfoil.rules.wishes import about_operation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

HELD = (ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT)


@dataclass(frozen=True, slots=True)
class Resolution:
    """`as_` is succeeded, failed or send_again; `new_key` belongs to send_again.

    `function` answered, and no person: `returned` is what the call had returned, `told` whether the model had heard by then
    that its outcome is unknown.
    """

    as_: str
    new_key: bool
    by: str
    reason: str
    evidence: str
    evidence_digest: str | None
    reference: str | None
    expect_version: int
    function: str | None = None
    returned: Any = None
    told: bool = True


@dataclass(frozen=True, slots=True)
class Resolve(RunVerb):
    """Refused if anything moved, if an attempt is live, or if who decides may not (rule 11)."""

    target: Target
    resolution: Resolution
    boundary: ClassVar[str] = "operation.resolved"
    sends: ClassVar[bool] = True  # it may forbid a send that a restored copy would otherwise make

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> Advanced | None:
        operation = operation_in(tx, self.target)
        said = self.resolution
        check_version(operation, said.expect_version)
        run = tx.must(RunRecord, self.run_id)
        self._check_person(tx, operation, run)
        if operation.reason in HELD and not operation.sent:
            resolved = self._lift_hold(tx, operation)
        else:
            self._check_doubt(tx, operation)
            resolved = self._judged(tx, operation)
        tx.put(resolved)
        tx.append(
            self.run_id,
            EntryKind.RESOLVED,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "as": said.as_,
                "new_key": said.new_key,
                "by": said.by,
                "reason": said.reason,
                "evidence": said.evidence,
                "evidence_digest": said.evidence_digest,
                "reference": said.reference,
                "seen_version": said.expect_version,
                "single_person": bool(tx.installation.single_person) and said.function is None,
            }
            | self._answered(),
        )
        wake(tx, self.run_id)
        return advanced(tx, self.target, resolved)

    def _check_person(self, tx: Transaction, operation: OperationRecord, run: RunRecord) -> None:
        person = permitted(tx, self.resolution.by, about_operation(Act.RESOLVE, operation, run))
        check_not_approver(tx, person, operation.operation_id, self.run_id)

    def _check_doubt(self, tx: Transaction, operation: OperationRecord) -> None:
        if operation.status.closed or not operation.sent:
            raise Refused("not_in_doubt", operation_id=operation.operation_id, status=operation.status.value)
        if operation.undeclared and self.resolution.as_ == "send_again":
            raise Refused("never_again", operation_id=operation.operation_id)
        facts = gather(situation_in(tx, self.target))
        if facts.attempt is Attempt.LIVE:
            raise Refused("attempt_live", operation_id=operation.operation_id, until="its deadline")
        if self.resolution.as_ == "send_again" and not self.resolution.new_key and facts.key is not Key.OPEN:
            raise Refused("unsafe_repeat", problem=f"the key is {facts.key.value}")

    def _judged(self, tx: Transaction, operation: OperationRecord) -> OperationRecord:
        for incident in tx.find(IncidentRecord, "operation_id", operation.operation_id):
            if incident.closed_at is None and self.resolution.as_ in ("succeeded", "failed"):
                tx.put(replace(incident, closed_at=tx.now, closed_by=self.resolution.by, reason=self.resolution.reason))
        return replace(operation, version=operation.version + 1, resolution=compact(self._facts()), resolved_at=tx.now)

    def _lift_hold(self, tx: Transaction, operation: OperationRecord) -> OperationRecord:
        """A possible repeat or a conflict: refused, or allowed as the next occurrence of the same intention."""
        if self.resolution.as_ not in ("failed", "send_again"):
            raise Refused("not_in_doubt", operation_id=operation.operation_id, status="held: refuse it or allow it")
        if self.resolution.as_ == "failed":
            return replace(
                operation, version=operation.version + 1, withdrawn=f"refused by {self.resolution.by}", reason=None
            )
        if operation.business_key is not None:
            known = tx.find(BusinessKeyRecord, "business_key", operation.business_key)
            tx.put(
                BusinessKeyRecord(
                    operation.business_key, operation.operation_id, operation.payload_digest, len(known), None
                )
            )
        return replace(operation, version=operation.version + 1, reason="allowed")

    def _answered(self) -> dict[str, Any]:
        said = self.resolution
        return (
            {} if said.function is None else {"function": said.function, "returned": said.returned, "told": said.told}
        )

    def _facts(self) -> dict[str, Any]:
        said = self.resolution
        return {
            "as": said.as_,
            "new_key": said.new_key,
            "by": said.by,
            "reason": said.reason,
            "evidence": said.evidence,
            "reference": said.reference,
        } | self._answered()
