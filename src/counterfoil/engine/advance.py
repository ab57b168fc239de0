"""Ask the recovery table about one operation, and write what it rules. Nobody else decides what becomes of a doubt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from counterfoil.engine.budgets import Spent
from counterfoil.engine.proposals import scope_of
from counterfoil.engine.situation import Target, held_now, lacking, newest_review, operation_in, situation_in
from counterfoil.engine.tap import Held
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.codec import compact, digest_of, parsed
from counterfoil.model.installation import BusinessKeyRecord, IncidentRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason
from counterfoil.rules.gather import Situation, gather, next_look_at
from counterfoil.rules.recovery import Ask, Case, Kind, Ruling, Stop, rule
from counterfoil.rules.recovery_rulings import Until
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

# What is done outside the database writes its own entry there; asking first costs no commit.
_NOT_WRITTEN = frozenset({Kind.NOTHING, Kind.SEND, Kind.REPEAT, Kind.LOOK_UP})
_OPENS = frozenset({Kind.OPEN_REVIEW, Kind.OPEN_RENEWAL})


@dataclass(frozen=True, slots=True)
class Advanced:
    """What became of an operation: the row as it is now, its case, and what is left to do outside the database."""

    operation: OperationRecord
    case: Case
    ruling: Ruling
    next_at: int | None
    expired_review: str | None = None
    spent: Spent | None = None  # for want of which budget a person is asked
    held: Held | None = None  # by which limit of its receiver it waits


@dataclass(frozen=True, slots=True)
class Advance(RunVerb):
    """One question to the table. Needs no lease: it records what is known, and sends nothing."""

    target: Target
    boundary: ClassVar[str] = "operation.advanced"

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> Advanced:
        operation = operation_in(tx, self.target)
        expired = _expire_review(tx, self.target)
        return advanced(tx, self.target, operation, expired=expired)


@dataclass(frozen=True, slots=True)
class OpenReview(Advance):
    """The same question, where its answer was to open a review or a renewal: a commit with a boundary of its own."""

    boundary: ClassVar[str] = "review.opened"

    def decide(self, tx: Transaction) -> Advanced:
        return advanced(tx, self.target, operation_in(tx, self.target), opens=True)


def advanced(
    tx: Transaction,
    target: Target,
    operation: OperationRecord,
    *,
    expired: str | None = None,
    opens: bool = False,
    note: str = "",
) -> Advanced:
    """Rule once and write it. `operation` may hold changes of the calling verb that are not stored yet.

    `note` stands behind the sentence of an incident that is opened.
    """
    situation = situation_in(tx, target, operation=operation)
    case, ruling = rule(gather(situation))
    next_at = next_look_at(situation)
    if ruling.kind in _NOT_WRITTEN or (ruling.kind in _OPENS and not opens):
        return Advanced(operation, case, ruling, next_at, expired)
    before = operation_in(tx, target)
    waits = ruling.kind is Kind.WAIT and ruling.reason == Until.NEXT_TRY
    held = held_now(tx, target, situation) if waits else None
    spent = lacking(tx, target) if ruling.reason == Ask.BUDGET else None
    if ruling.kind is Kind.OPEN_INCIDENT:
        changed = replace(operation, incident_id=_open_incident(tx, operation, f"{case.sentence}{note}"))
    else:
        changed = _write(tx, target, situation, operation, ruling)
    if ruling.kind in _OPENS:
        case, _ = rule(gather(situation_in(tx, target, operation=changed)))  # shown: what holds once the review is open
    sentence = case.sentence if held is None else f"{case.sentence} {held.sentence}"
    ruled = replace(changed, case_letter=case.letter, case_sentence=sentence)
    if ruling.kind in _OPENS:
        tx.append(
            target.run_id,
            EntryKind.REVIEW,
            name=operation.name,
            data={"operation_id": operation.operation_id, "version": operation.proposal_version, "case": case.letter},
        )
    if ruled != before:
        # When to look again moves all the time; it is written where something else changes.
        ruled = replace(ruled, next_at=next_at, version=before.version + 1)
        tx.put(ruled)
        closes = ruled.status.closed and not before.status.closed
        if closes:
            wake(tx, target.run_id)  # late evidence moves a run that was parked for this doubt
        tx.append(
            target.run_id,
            EntryKind.CLOSED if closes else EntryKind.RULED,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "version": operation.proposal_version,
                "case": case.letter,
                "sentence": sentence,
                "ruling": ruling.kind.value,
                "reason": ruling.reason,
                "status": ruled.status.value,
            },
        )
    return Advanced(ruled, case, ruling, next_at, expired, spent, held)


def _expire_review(tx: Transaction, target: Target) -> str | None:
    """An open review whose time is over is an entry of its own: the workflow hears it as ReviewExpired."""
    review = newest_review(tx.find(ReviewRecord, "operation_id", target.operation_id))
    if review is None or review.state is not ReviewState.OPEN or review.expires_at > tx.now:
        return None
    tx.put(replace(review, state=ReviewState.EXPIRED))
    tx.append(
        target.run_id,
        EntryKind.EXPIRED,
        data={
            "review_id": review.review_id,
            "operation_id": review.operation_id,
            "version": review.proposal_version,
            "kind": review.kind,
        },
    )
    return review.review_id


def _write(
    tx: Transaction, target: Target, situation: Situation, operation: OperationRecord, ruling: Ruling
) -> OperationRecord:
    """The row that a ruling leaves. Rulings that act outside (send, look up) leave it as it is."""
    match ruling.kind:
        case Kind.RECORD_SUCCESS:
            return _succeeded(tx, target, situation, operation)
        case Kind.RECORD_FAILURE:
            return _failed(tx, target, operation, situation)
        case Kind.CLOSE_NEVER_SENT:
            _free_key(tx, operation, None)
            reason = operation.withdrawn or "rejected"
            return replace(operation, status=OperationStatus.FAILED, reason=reason, closed_at=tx.now)
        case Kind.OPEN_REVIEW | Kind.OPEN_RENEWAL:
            _open_review(tx, target, operation, "first" if ruling.kind is Kind.OPEN_REVIEW else "renewal")
            return replace(operation, reason=None if operation.reason in _ASKED else operation.reason)
        case Kind.ASK_PERSON:
            return _asked(tx, target, operation, ruling)
        case _:
            return operation


_ASKED = frozenset(reason.value for reason in ParkReason) - {
    ParkReason.POSSIBLE_REPEAT,
    ParkReason.BUSINESS_KEY_CONFLICT,
}


def park_reason_of(ruling: Ruling, spent: Spent | None, *, undeclared: bool) -> ParkReason:
    """The stable reason under which a run waits for a person. `budget` is named by what is spent."""
    if undeclared and ruling.reason == Ask.OUTCOME_UNKNOWN:
        return ParkReason.INTERRUPTED_TOOL
    if ruling.reason == Ask.BUDGET:
        return ParkReason.BUDGET_ATTEMPTS if spent is None else spent.reason
    return ParkReason(ruling.reason or ParkReason.INCONSISTENT)


class Then(StrEnum):
    """What whoever drives an operation does after a ruling."""

    ENDED = "ended"
    TRY = "try"
    ASK = "ask"
    WAIT = "wait"
    STAND = "stand"  # only a person, or the end of a stop, moves it
    OPEN = "open"
    AGAIN = "again"  # the ruling was written: ask the table again


_THEN = {
    Kind.SEND: Then.TRY, Kind.REPEAT: Then.TRY, Kind.LOOK_UP: Then.ASK, Kind.WAIT: Then.WAIT, Kind.HOLD: Then.STAND,
    Kind.ASK_PERSON: Then.STAND, Kind.OPEN_REVIEW: Then.OPEN, Kind.OPEN_RENEWAL: Then.OPEN,
}  # fmt: skip
_ENDS = frozenset({Kind.NOTHING, Kind.RECORD_SUCCESS, Kind.RECORD_FAILURE, Kind.CLOSE_NEVER_SENT})


def then_of(advanced: Advanced) -> Then:
    """The one step that follows a ruling. The driver takes it, and so does the explorer's worker."""
    kind = advanced.ruling.kind
    if advanced.operation.status.closed and kind in _ENDS:
        return Then.ENDED
    return _THEN.get(kind, Then.AGAIN)


_STOPPED_FOR = {
    Stop.RESTORED: ParkReason.RESTORED, Stop.SUSPENDED: ParkReason.WRITES_SUSPENDED,
    Stop.PAUSED: ParkReason.WRITES_SUSPENDED, Stop.INCIDENT: ParkReason.DUPLICATE_FOUND,
    Stop.CLOCK_JUMP: ParkReason.CLOCK_JUMP,
}  # fmt: skip


def demanded(advanced: Advanced) -> ParkReason | None:
    """Under which reason a person is asked after Then.STAND. None: another operation's doubt, or nothing of its own."""
    ruling, held = advanced.ruling, advanced.operation.reason
    if ruling.kind is Kind.ASK_PERSON:
        return park_reason_of(ruling, advanced.spent, undeclared=advanced.operation.undeclared)
    stop = Stop(ruling.reason or "none")
    if stop is Stop.HELD and held in (ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT):
        return ParkReason(held)
    return _STOPPED_FOR.get(stop)


def _asked(tx: Transaction, target: Target, operation: OperationRecord, ruling: Ruling) -> OperationRecord:
    spent = lacking(tx, target) if ruling.reason == Ask.BUDGET else None
    reason = park_reason_of(ruling, spent, undeclared=operation.undeclared)
    # What was never sent is not unknown: it waits, prepared, for somebody to raise its budget.
    status = OperationStatus.UNKNOWN if operation.sent and not operation.status.closed else operation.status
    return replace(operation, status=status, reason=reason)


def _succeeded(tx: Transaction, target: Target, situation: Situation, operation: OperationRecord) -> OperationRecord:
    receipts = tx.find(ReceiptRecord, "operation_id", target.operation_id)
    if operation.resolution is not None and not receipts:
        said = parsed(operation.resolution)
        function = said.get("function")  # asked as a receiver is: what it answered is no person's word
        body = compact({"reference": said["reference"]} | ({} if function is None else {"returned": said["returned"]}))
        how = "person" if function is None else "lookup"
        receipt = _receipt(operation, how, said["reference"], body, "existence", tx.now, None)
        tx.put(receipt)
        return _closed_well(operation, receipt, tx.now)
    if not receipts:
        match = [lookup for lookup in situation.lookups if lookup.result == "match"][-1]
        receipt = receipt_of_lookup(operation, match)
        tx.put(receipt)
        return _closed_well(operation, receipt, tx.now)
    return _closed_well(operation, receipts[-1], tx.now)


def _closed_well(operation: OperationRecord, receipt: ReceiptRecord, now: int) -> OperationRecord:
    return replace(
        operation,
        status=OperationStatus.SUCCEEDED,
        reason=None,
        receipt_id=receipt.receipt_id,
        closed_at=now,
        sent=1,
        first_sent_at=operation.first_sent_at or operation.prepared_at,
    )


def receipt_of_lookup(operation: OperationRecord, lookup: LookupRecord) -> ReceiptRecord:
    """What a matching lookup showed, as a receipt: it proves how things stand, not what was answered first."""
    found: list[dict[str, Any]] = parsed(lookup.found)
    body = compact(found[0]["receipt"])
    return _receipt(operation, "lookup", found[0]["reference"], body, "current_state", lookup.asked_at, None)


def _receipt(
    operation: OperationRecord, how: str, reference: str, body: str, proves: str, at: int, attempt_id: str | None
) -> ReceiptRecord:
    digest = digest_of(body.encode())
    return ReceiptRecord(
        ids.receipt_id(operation.operation_id, how, digest),
        operation.operation_id,
        operation.run_id,
        attempt_id,
        how,
        reference,
        body,
        digest,
        proves,
        at,
    )


def _failed(tx: Transaction, target: Target, operation: OperationRecord, situation: Situation) -> OperationRecord:
    judged = operation.resolution is not None
    late = situation.contract.lookup.arrives_within if situation.contract.lookup else None
    # After a person's `failed` the key stays held until nothing can arrive late; evidence after that is an incident.
    _free_key(tx, operation, int(late.total_seconds() * 1_000_000) if judged and late else None)
    return replace(operation, status=OperationStatus.FAILED, reason="judged" if judged else "refused", closed_at=tx.now)


def _free_key(tx: Transaction, operation: OperationRecord, held_for: int | None) -> None:
    if operation.business_key is None:
        return
    for held in tx.find(BusinessKeyRecord, "business_key", operation.business_key):
        if held.operation_id == operation.operation_id:
            tx.put(replace(held, held_until=tx.now + (held_for or 0)))


def _open_review(tx: Transaction, target: Target, operation: OperationRecord, kind: str) -> None:
    asked = target.review
    assert asked is not None, "a review is opened only where the operation asks for one"
    earlier = tx.find(ReviewRecord, "operation_id", operation.operation_id)
    for review in earlier:
        if review.state is ReviewState.APPROVED and review.void is None:
            tx.put(replace(review, void="lapsed"))
    tx.put(
        ReviewRecord(
            review_id=ids.review_id(operation.operation_id, operation.proposal_version, len(earlier)),
            number=tx.number("review"),
            operation_id=operation.operation_id,
            run_id=operation.run_id,
            proposal_version=operation.proposal_version,
            digest=operation.payload_digest,
            kind=kind,
            state=ReviewState.OPEN,
            role=asked["role"],
            owner=asked["owner"]["name"],
            owner_then=asked["owner"]["then"],
            scope=compact(scope_of(operation, target.approval_scope or target.scope)),
            opened_at=tx.now,
            expires_at=tx.now + asked["expires_us"],
            reviewer=None,
            decided_at=None,
            comment=None,
            ask_revision=0,
            used_by=None,
            void=None,
            incarnation=tx.installation.incarnation,
            needed=asked.get("approvals", 1),
        )
    )


def _open_incident(tx: Transaction, operation: OperationRecord, what: str) -> str:
    number = tx.number("incident")
    incident_id = ids.derived("inc", operation.operation_id, str(number))
    evidence = [lookup.found for lookup in tx.find(LookupRecord, "operation_id", operation.operation_id)][-1:]
    tx.put(
        IncidentRecord(
            incident_id,
            number,
            operation.operation_id,
            operation.run_id,
            operation.business_key,
            what,
            compact(evidence),
            tx.now,
            None,
            None,
            None,
        )
    )
    return incident_id
