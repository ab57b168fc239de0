"""All that the recovery table needs to know about one operation, read in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterfoil.engine.approving import approving_reads, stands
from counterfoil.engine.budgets import Share, Spent, share_reads, spent_in
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.gate import gate_reads, send_of, uncovered
from counterfoil.engine.tap import Held, Tap, held_by_tap, tap_reads
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused
from counterfoil.model.installation import BusinessKeyRecord, ContractRecord, IncidentRecord, SuspensionRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules.budget import FIRST_PAUSE_US, LONGEST_PAUSE_US, of_attempt, pause_before
from counterfoil.rules.gather import Situation, gather
from counterfoil.rules.lost_history import began
from counterfoil.rules.recovery import Kind, rule
from counterfoil.rules.situation import DAY_US
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Target:
    """The fixed parts of an operation that its reads need, and what only this process knows of it.

    `scope` is the digest of what narrows a key here and now; `clock_jump` says that the clocks disagree; `patience_us` is
    its owner's time, for which a receiver is asked in vain; `gated` is its name where its sending needs a drill or a waiver.
    """

    operation_id: str
    run_id: str
    contract_digest: str
    business_key: str | None
    scope: str
    review: dict[str, Any] | None
    clock_jump: bool = False
    patience_us: int = DAY_US
    approval_scope: str | None = None  # None: from a process that does not send, so no review is opened there
    gated: str | None = None
    shares: tuple[Share, ...] = ()  # the budgets that a send draws on
    held: tuple[str, ...] = ()  # those in which its earlier sends still hold something
    tap: Tap | None = None  # the limits of its receiver; None: from a process that does not send

    def reads(self) -> tuple[Read, ...]:
        reads = [
            Read.key(RunRecord, self.run_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.key(ContractRecord, self.contract_digest),
            Read.by(AttemptRecord, "operation_id", self.operation_id),
            Read.by(ReceiptRecord, "operation_id", self.operation_id),
            Read.by(LookupRecord, "operation_id", self.operation_id),
            Read.by(ReviewRecord, "operation_id", self.operation_id),
            Read.by(IncidentRecord, "operation_id", self.operation_id),
            Read.by(RunRecord, "parent_run_id", self.run_id),
            Read.all(PersonRecord),
            Read.all(SuspensionRecord),
            *approving_reads(self.run_id),
            *share_reads(self.shares, self.held),
            *tap_reads(self.tap),
        ]
        if self.gated is not None:
            reads += gate_reads(self.gated)
        if self.business_key is not None:
            reads += [
                Read.by(BusinessKeyRecord, "business_key", self.business_key),
                Read.by(IncidentRecord, "business_key", self.business_key),
            ]
        return tuple(reads)


def target_of(
    operation: OperationRecord, scope: str, review: dict[str, Any] | None, gated: str | None = None
) -> Target:
    """As a process addresses it that does not send."""
    return Target(
        operation.operation_id, operation.run_id, operation.contract_digest, operation.business_key, scope, review,
        gated=gated,
    )  # fmt: skip


def operation_in(tx: Transaction, target: Target) -> OperationRecord:
    return tx.must(OperationRecord, target.operation_id)


def check_version(operation: OperationRecord, seen: int) -> None:
    """A person's word names the version that was seen. Raises Refused(stale_version) when anything moved since."""
    if operation.version != seen:
        what = f"Operation {operation.operation_id}"
        raise Refused("stale_version", what=what, current=operation.version, given=seen)


def newest_review(reviews: Sequence[ReviewRecord]) -> ReviewRecord | None:
    return max(reviews, key=lambda review: review.number, default=None)


def own_reviews(tx: Transaction, operation: OperationRecord) -> Sequence[ReviewRecord]:
    """The reviews whose approval an operation may draw on: its own. One approval serves one operation, once."""
    return tx.find(ReviewRecord, "operation_id", operation.operation_id)


def situation_in(tx: Transaction, target: Target, *, operation: OperationRecord | None = None) -> Situation:
    """Rows to facts. `operation` replaces the stored row while a verb is changing it."""
    run = tx.must(RunRecord, target.run_id)
    operation = operation or operation_in(tx, target)
    contract = Contract.from_stored(parsed(tx.must(ContractRecord, target.contract_digest).body))
    # What was said of another version, also "please revise", says nothing of this one.
    review = newest_review([r for r in own_reviews(tx, operation) if r.proposal_version == operation.proposal_version])
    attempts = tx.find(AttemptRecord, "operation_id", target.operation_id)
    incidents = _incidents(tx, target)
    budget, next_try_at = _budget(tx, target, run, attempts)
    asked = target.review or {}
    approval = stands(tx, run, operation, review, asked.get("approvals", 1))
    situation = Situation(
        operation=operation,
        contract=contract,
        attempts=attempts,
        receipts=tx.find(ReceiptRecord, "operation_id", target.operation_id),
        lookups=tx.find(LookupRecord, "operation_id", target.operation_id),
        review=review,
        review_needed=target.review is not None,
        authority_now=None if approval is None else approval.covered,
        signed=approval is None or approval.signed,
        incident_open=any(incident.closed_at is None for incident in incidents),
        stop=_stop(tx, target, run, operation),
        scope_now=target.scope,
        budget=budget,
        restore=tx.installation,
        now=tx.now,
        run_from=began(run),
        next_try_at=next_try_at,
        approval_scope_now=target.approval_scope,
        patience_us=target.patience_us,
        weighed_at=max((incident.closed_at for incident in incidents if incident.closed_at is not None), default=None),
    )
    held = held_now(tx, target, situation)
    if held is None:
        return situation
    return replace(situation, budget="not_yet", next_try_at=max(held.until, next_try_at or 0))


def _incidents(tx: Transaction, target: Target) -> list[IncidentRecord]:
    found = list(tx.find(IncidentRecord, "operation_id", target.operation_id))
    if target.business_key is not None:
        found += tx.find(IncidentRecord, "business_key", target.business_key)  # an incident freezes its business key
    return found


_DOUBTS = (ParkReason.OUTCOME_UNKNOWN, ParkReason.INTERRUPTED_TOOL)


def _stop(tx: Transaction, target: Target, run: RunRecord, operation: OperationRecord) -> str | None:
    """What forbids sending now, the gravest first."""
    if tx.installation.restore_state == "open":
        return "restored"
    scopes = {"all", f"operation:{operation.operation_id}", f"receiver:{operation.receiver}"}
    if any(s.lifted_at is None and s.scope in scopes for s in tx.all(SuspensionRecord)):
        return "suspended"
    if target.clock_jump:
        return "clock_jump"
    if (
        operation.reason in (ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT)
        and operation.resolution is None
    ):
        return "held"
    if any(_holds(other, operation) for other in tx.find(OperationRecord, "run_id", target.run_id)):
        return "other_doubt"
    # A run that waits for a child in doubt sends nothing either (rule 13).
    if any(child.reason in _DOUBTS for child in tx.find(RunRecord, "parent_run_id", target.run_id)):
        return "other_doubt"
    # On every attempt, as an approval is: a waiver that ended forbids a repeat too, and never a question (rule 10).
    if target.gated is not None and uncovered(tx, send_of(operation, run)):
        return "paused"
    return None


def _holds(other: OperationRecord, operation: OperationRecord) -> bool:
    """Rule 13: a doubt stops every other write of its run. Doubts are closed in their order, or two would hold each other."""
    if other.operation_id == operation.operation_id or not in_doubt(other) or other.duplicate == "benign":
        return False
    return not in_doubt(operation) or other.number < operation.number


def called_of(operation: OperationRecord) -> str:
    """Under which name budgets count it: an undeclared tool by its own."""
    return (operation.target if operation.undeclared else None) or operation.name


def needed(operation: OperationRecord) -> dict[str, int]:
    """What another send holds in reserve. The operation is one call, however often it is tried; an undeclared tool's call was
    counted where the model made it."""
    return of_attempt(called_of(operation), first=not operation.attempts and not operation.undeclared)


def lacking(tx: Transaction, target: Target) -> Spent | None:
    """What is spent of the budgets that another send would draw on."""
    need = needed(operation_in(tx, target))
    return spent_in(tx, tx.must(RunRecord, target.run_id), target.shares, need)


def held_now(tx: Transaction, target: Target, situation: Situation) -> Held | None:
    """By which limit or pause of its receiver another send is held, where it is paid for.

    They hold what the table would send, and nothing else: a doubt that only a person can close is that person's at once.
    """
    held = None if situation.budget == "spent" else held_by_tap(tx, target.tap)
    if held is None:
        return None
    _, ruling = rule(gather(replace(situation, budget="left", next_try_at=None)))
    return held if ruling.kind in (Kind.SEND, Kind.REPEAT) else None


def _budget(
    tx: Transaction, target: Target, run: RunRecord, attempts: Sequence[AttemptRecord]
) -> tuple[str, int | None]:
    """Whether another try is paid for and due, and when it is due."""
    now = tx.now
    if lacking(tx, target) is not None:
        return "spent", None
    if attempts and attempts[-1].ended_at is not None:
        due = attempts[-1].ended_at + pause_before(len(attempts), FIRST_PAUSE_US, LONGEST_PAUSE_US)
        if now < due:
            return "not_yet", due
    return "left", None
