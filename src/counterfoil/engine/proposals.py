"""Propose: a version of an operation's payload, with its digest. Prepare: the operation's identity becomes durable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model import ids
from counterfoil.model.codec import compact, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.installation import BusinessKeyRecord, ContractRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.money import Amount
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.origin import identity_generation
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules.lost_history import CLONED, began, is_the_originals, lost_since, maybe_lost
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Intent:
    """What a run wants written: everything about an operation that does not depend on the database."""

    name: str
    receiver: str
    environment: str
    action: str
    api_version: str
    duplicate: str
    payload: str
    payload_digest: str
    business_key: str | None  # joined with receiver account, environment and operation name
    repeatable: bool
    contract_digest: str
    contract: str
    owner: str
    review: dict[str, Any] | None  # role, expires_us, owner
    target: str | None = None
    amount: Amount | None = None
    lineage: tuple[
        str, ...
    ] = ()  # the runs of earlier versions of this answer: what they did is not done again unasked


@dataclass(frozen=True, slots=True)
class Propose(RunVerb):
    """Version 1 of a new operation, or the next version of one that was never sent. Gives (operation, proposal)."""

    fence: int
    position: str
    intent: Intent
    replaces: str | None
    sources: list[dict[str, Any]]
    data: dict[str, Any]
    deadlines: Deadlines
    replaced_key: str | None = None  # the business key of what it replaces
    boundary: ClassVar[str] = "proposal.made"

    def reads(self) -> Sequence[Read]:
        reads = [*_lineage(self.run_id, self.intent)]
        if self.replaced_key is not None:
            reads.append(Read.by(BusinessKeyRecord, "business_key", self.replaced_key))
        return reads

    def decide(self, tx: Transaction) -> tuple[OperationRecord, ProposalRecord]:
        run = driven(tx, self.run_id, self.fence)
        tx.put(touched(run, tx.now, self.deadlines))
        if self.replaces is None:
            operation = _minted(tx, run, self.position, self.intent)
        else:
            operation = self._next_version(tx)
        proposal = ProposalRecord(
            ids.proposal_id(operation.operation_id, operation.proposal_version),
            operation.operation_id,
            self.run_id,
            operation.proposal_version,
            self.intent.payload,
            self.intent.payload_digest,
            compact(self.sources),
            self.position,
            tx.now,
        )
        operation = _unwanted(run, operation)
        tx.put(operation)
        tx.put(proposal)
        tx.append(
            self.run_id,
            EntryKind.PROPOSAL,
            position=self.position,
            name=self.intent.name,
            data=self.data
            | {"operation_id": operation.operation_id, "version": proposal.version, "digest": proposal.payload_digest},
        )
        return operation, proposal

    def _next_version(self, tx: Transaction) -> OperationRecord:
        assert self.replaces is not None, "only a replacement has a version before it"
        operation = tx.must(OperationRecord, self.replaces)
        # Rule 9: from the first attempt its digest is frozen; an operation that is maybe sent is never bound to a newer version.
        if operation.sent or operation.status is not OperationStatus.PREPARED:
            raise Refused("frozen_payload", operation_id=operation.operation_id)
        for review in tx.find(ReviewRecord, "run_id", self.run_id):
            if review.operation_id == operation.operation_id and review.state in (
                ReviewState.OPEN,
                ReviewState.APPROVED,
            ):
                tx.put(replace(review, state=ReviewState.SUPERSEDED, void="a newer version"))
        _store_contract(tx, self.intent)
        if operation.business_key is not None and operation.business_key != self.intent.business_key:
            _free(tx, operation)  # the intention has another name now; the new one is taken when it is performed
        return replace(
            operation,
            business_key=self.intent.business_key,
            version=operation.version + 1,
            proposal_version=operation.proposal_version + 1,
            payload=self.intent.payload,
            payload_digest=self.intent.payload_digest,
            contract_digest=self.intent.contract_digest,
            next_at=None,
            **_marked(self.intent),
        )


@dataclass(frozen=True, slots=True)
class Prepare(RunVerb):
    """The operation of a `perform`: identity, contract, key, business key, before anything is asked or sent."""

    fence: int
    position: str
    intent: Intent
    operation_id: str | None  # of a proposal
    data: dict[str, Any]
    deadlines: Deadlines
    boundary: ClassVar[str] = "operation.prepared"

    def reads(self) -> Sequence[Read]:
        return _lineage(self.run_id, self.intent)

    def decide(self, tx: Transaction) -> OperationRecord:
        run = driven(tx, self.run_id, self.fence)
        tx.put(touched(run, tx.now, self.deadlines))
        if self.operation_id is None:
            operation = _minted(tx, run, self.position, self.intent)
            proposal = ProposalRecord(
                ids.proposal_id(operation.operation_id, 1),
                operation.operation_id,
                self.run_id,
                1,
                self.intent.payload,
                self.intent.payload_digest,
                "[]",
                self.position,
                tx.now,
            )
            tx.put(proposal)
        else:
            operation = tx.must(OperationRecord, self.operation_id)
        # Not `sent`: what is minted while a restore is unfinished counts as sent, and still names an intention.
        if operation.status is OperationStatus.PREPARED and not operation.attempts:
            operation = self._intention(tx, operation)
        operation = _unwanted(run, operation)
        tx.put(operation)
        tx.append(
            self.run_id,
            EntryKind.PREPARED,
            position=self.position,
            name=self.intent.name,
            data=self.data | {"operation_id": operation.operation_id, "version": operation.proposal_version},
        )
        return operation

    def _intention(self, tx: Transaction, operation: OperationRecord) -> OperationRecord:
        """Rule of section 3: a business key names the intention; without one, an equal operation is held as a possible repeat."""
        if self.intent.business_key is None:
            earlier = self._equal_before(tx, operation) or self._resolved_earlier(tx, operation) if operation.undeclared else (
                not self.intent.repeatable and self._equal_earlier(tx, operation)
            )  # fmt: skip
            if earlier and operation.reason is None:
                return replace(operation, version=operation.version + 1, reason=ParkReason.POSSIBLE_REPEAT)
            return operation
        known = tx.find(BusinessKeyRecord, "business_key", self.intent.business_key)
        holders = carriers(known, tx.now)
        mine = next((held for held in holders if held.operation_id == operation.operation_id), None)
        if mine is not None:
            if mine.payload_digest != operation.payload_digest:
                tx.put(replace(mine, payload_digest=operation.payload_digest))  # a newer version of the same intention
            return operation
        holders = [held for held in holders if not self._given_up(tx, held)]
        if not holders:
            tx.put(
                BusinessKeyRecord(
                    self.intent.business_key, operation.operation_id, operation.payload_digest, len(known), None
                )
            )
            return operation
        equal = [held for held in holders if held.payload_digest == operation.payload_digest]
        if equal:
            return replace(operation, version=operation.version + 1, reused_from=equal[-1].operation_id)
        return replace(operation, version=operation.version + 1, reason=ParkReason.BUSINESS_KEY_CONFLICT)

    def _given_up(self, tx: Transaction, held: BusinessKeyRecord) -> bool:
        """An operation of this run whose review expired and which the workflow performs anew: it is withdrawn, never sent."""
        earlier = next(
            (o for o in tx.find(OperationRecord, "run_id", self.run_id) if o.operation_id == held.operation_id), None
        )
        if earlier is None or earlier.sent or earlier.status is not OperationStatus.PREPARED:
            return False
        reviews = [r for r in tx.find(ReviewRecord, "run_id", self.run_id) if r.operation_id == earlier.operation_id]
        if not reviews or reviews[-1].state is not ReviewState.EXPIRED:
            return False
        tx.put(
            replace(
                earlier,
                version=earlier.version + 1,
                status=OperationStatus.FAILED,
                reason="withdrawn",
                withdrawn="performed anew after its review expired",
                closed_at=tx.now,
            )
        )
        tx.put(replace(held, held_until=tx.now))
        return True

    def _resolved_earlier(self, tx: Transaction, operation: OperationRecord) -> bool:
        """A tool that was interrupted, and of which it was said later that it had acted, is called anew: in whatever words the
        model plans it, a person says whether both are meant."""
        return any(
            other.undeclared
            and other.target == operation.target
            and other.resolution is not None
            and parsed(other.resolution).get("told", True)
            for other in self._in_lineage(tx)
            if other.operation_id != operation.operation_id and other.status is OperationStatus.SUCCEEDED
        )

    def _equal_before(self, tx: Transaction, operation: OperationRecord) -> bool:
        """An undeclared call that an earlier version of this answer made as well: in one turn it may be meant twice, here it is
        for a person to say."""
        return any(
            (other.name, other.payload_digest) == (operation.name, operation.payload_digest)
            and other.status is not OperationStatus.FAILED
            for earlier in self.intent.lineage
            for other in tx.find(OperationRecord, "run_id", earlier)
        )

    def _in_lineage(self, tx: Transaction) -> Iterator[OperationRecord]:
        for run_id in (self.run_id, *self.intent.lineage):
            yield from tx.find(OperationRecord, "run_id", run_id)

    def _equal_earlier(self, tx: Transaction, operation: OperationRecord) -> bool:
        return any(
            other.operation_id != operation.operation_id
            and other.name == operation.name
            and other.payload_digest == operation.payload_digest
            and other.status is not OperationStatus.FAILED
            for other in self._in_lineage(tx)
        )


def carriers(known: Sequence[BusinessKeyRecord], now: int) -> list[BusinessKeyRecord]:
    """Who carries this intention, over all runs: only `failed` lets go of it, and a person's `failed` not at once."""
    return [held for held in known if held.held_until is None or held.held_until > now]


def _lineage(run_id: str, intent: Intent) -> tuple[Read, ...]:
    reads = [
        Read.key(RunRecord, run_id),
        Read.by(OperationRecord, "run_id", run_id),
        Read.by(ReviewRecord, "run_id", run_id),
        Read.key(ContractRecord, intent.contract_digest),
    ]
    reads += [Read.by(OperationRecord, "run_id", earlier) for earlier in intent.lineage]
    if intent.business_key is not None:
        reads.append(Read.by(BusinessKeyRecord, "business_key", intent.business_key))
    return tuple(reads)


def _unwanted(run: RunRecord, operation: OperationRecord) -> OperationRecord:
    """The run was cancelled, and its driver has not heard yet: what it prepares now is withdrawn at once."""
    if run.cancel_asked and operation.withdrawn is None and not operation.status.closed:
        return replace(operation, withdrawn="cancelled")
    return operation


def _free(tx: Transaction, operation: OperationRecord) -> None:
    assert operation.business_key is not None
    for held in tx.find(BusinessKeyRecord, "business_key", operation.business_key):
        if held.operation_id == operation.operation_id:
            tx.put(replace(held, held_until=tx.now))


def _store_contract(tx: Transaction, intent: Intent) -> None:
    if tx.get(ContractRecord, intent.contract_digest) is None:
        tx.put(ContractRecord(intent.contract_digest, intent.contract))


def _minted(tx: Transaction, run: RunRecord, position: str, intent: Intent) -> OperationRecord:
    """A new operation. Its identity is derived here, once, stored, and carried ever after."""
    generation = identity_generation(run.workflow, run.generation)
    occurrence = sum(
        1
        for other in tx.find(OperationRecord, "run_id", run.run_id)
        if (other.generation, other.position, other.name) == (generation, position, intent.name)
    )
    _store_contract(tx, intent)
    # Rule 20: what is derived for a run that the lost part of the history may have had, in whatever words it is planned now,
    # may be what was already sent there.
    run_from = began(run)
    lost = maybe_lost(run_from, tx.installation)
    return OperationRecord(
        operation_id=ids.operation_id(run.run_id, generation, position, intent.name, occurrence),
        number=tx.number("operation"),
        version=1,
        run_id=run.run_id,
        generation=generation,
        position=position,
        name=intent.name,
        occurrence=occurrence,
        receiver=intent.receiver,
        environment=intent.environment,
        action=intent.action,
        api_version=intent.api_version,
        duplicate=intent.duplicate,
        business_key=intent.business_key,
        key_number=0,
        proposal_version=1,
        payload=intent.payload,
        payload_digest=intent.payload_digest,
        contract_digest=intent.contract_digest,
        status=OperationStatus.PREPARED,
        reason=None,
        reused_from=None,
        sent=int(lost),
        first_sent_at=lost_since(run_from, tx.installation) if lost else None,
        attempts=0,
        key_state=None,
        in_progress_until=None,
        withdrawn=CLONED if is_the_originals(run_from, tx.installation) else None,
        resolution=None,
        resolved_at=None,
        receipt_id=None,
        owner=intent.owner,
        case_letter=None,
        case_sentence=None,
        next_at=None,
        incident_id=None,
        incarnation=tx.installation.incarnation,
        prepared_at=tx.now,
        closed_at=None,
        **_marked(intent),
    )


def _marked(intent: Intent) -> dict[str, Any]:
    """What the payload marks, as columns."""
    amount = intent.amount
    minor, currency = (None, None) if amount is None else (amount.minor, amount.currency)
    return {"target": intent.target, "amount_minor": minor, "currency": currency}


def scope_of(operation: OperationRecord, credential: str) -> dict[str, Any]:
    """What one approval authorises: this operation, at this receiver, with this credential, once (design section 1)."""
    payload: Any = parsed(operation.payload)
    fields = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    amount: Any = fields.get("amount")
    if operation.amount_minor is not None:
        amount = {"minor": operation.amount_minor, "currency": operation.currency}
    return {
        "operation": operation.name,
        "operation_id": operation.operation_id,
        "receiver": operation.receiver,
        "environment": operation.environment,
        "scope": credential,
        "business_key": operation.business_key,
        "upper_amount": amount,
        "uses": 1,
    }
