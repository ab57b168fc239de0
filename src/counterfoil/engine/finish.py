"""How an execution of a run ends: it waits, it is parked, or it has finished."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.budgets import (
    Spent,
    calls_of,
    check_raised,
    higher,
    let_go,
    parked_for,
    raised_since,
    share_reads,
)  # fmt: skip
from counterfoil.engine.decisions import in_doubt, unmeasured
from counterfoil.engine.following import followers_of, refuse_followed, release, turns_behind
from counterfoil.engine.gate import gate_reads, uncovered
from counterfoil.engine.parking import parked
from counterfoil.engine.slots import release as release_slots
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.engine.waking import tell_parent, waited
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, parsed
from counterfoil.model.drill import Covered
from counterfoil.model.errors import Refused
from counterfoil.model.installation import BusinessKeyRecord, SuspensionRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import BUDGET_REASONS, PARK_SENTENCES, RUN_SENTENCES, ParkReason, RunRecord, RunState
from counterfoil.rules.wishes import about_run
from counterfoil.store.port import Read
from counterfoil.store.records import changed
from counterfoil.store.transaction import Transaction

HOUR_US = 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Suspend(RunVerb):
    """Every branch waits. Gives True, or False when something arrived since `seen`, which the execution must read first."""

    fence: int
    seen: int
    waits: list[dict[str, Any]]
    why: str  # review, timer, signal, child or receiver: what it waits for first
    sentence: str
    due_at: int | None
    deadline_at: int | None
    owner: str
    owner_then: str | None
    asked_at: int | None = None  # by the driver's own clock; None: it is the ledger's
    boundary: ClassVar[str] = "run.waiting"

    def decide(self, tx: Transaction) -> bool:
        run = driven(tx, self.run_id, self.fence)
        if run.sequence != self.seen:
            return False
        release_slots(tx, run)
        held_for = next((wait["id"] for wait in self.waits if wait["kind"] == "slot"), None)
        tx.put(
            replace(
                run,
                state=RunState.WAITING,
                waiting_since=tx.now if self.why == "review" else None,
                reason=self.why,
                sentence=self.sentence,
                due_at=self._by_the_ledger(self.due_at, tx.now),
                deadline_at=self._by_the_ledger(self.deadline_at, tx.now),
                owner=self.owner,
                owner_then=self.owner_then,
                executing=0,
                worker_id=None,
                lease_until=None,
                held_for=held_for,
            )
        )
        tx.append(self.run_id, EntryKind.SUSPENDED, data={"waits": self.waits})
        return True

    def _by_the_ledger(self, at: int | None, now: int) -> int | None:
        """The ledger's time never goes back. By a clock that was put back something is to come that is past here, and the run
        would be taken up again and again: it waits as long as its driver meant."""
        if at is None or self.asked_at is None or not self.asked_at < at <= now:
            return at
        return now + at - self.asked_at


@dataclass(frozen=True, slots=True)
class Park(RunVerb):
    """Stop with a reason, an owner, a deadline and an instruction. `fence` is None when nobody drives it (deadlines)."""

    fence: int | None
    seen: int | None
    reason: ParkReason
    detail: str
    owner: dict[str, Any]
    heading: str | None
    void: int | None  # the sequence of the failure that the workflow did not answer, which a retry forgets
    failure: dict[str, Any] | None
    undrilled: Covered | None = None
    spent: Spent | None = None  # the budget that it is parked for
    cancelled_by: str | None = None  # the run whose cancelling cancels this one, and which waits for its end
    boundary: ClassVar[str] = "run.parked"
    ends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        gate = () if self.undrilled is None else gate_reads(self.undrilled.operation)
        parent = () if self.cancelled_by is None else (Read.key(RunRecord, self.cancelled_by),)
        return (
            Read.key(RunRecord, self.run_id),
            Read.all(SuspensionRecord),
            *parent,
            *gate,
            *share_reads((), parked_for(self.spent)),
        )

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id) if self.fence is None else driven(tx, self.run_id, self.fence)
        if self.seen is not None and run.sequence != self.seen:
            return False
        if run.state.ended:
            raise Refused("run_ended", run_id=self.run_id, state=run.state.value)
        if self._lifted(tx):
            return False
        sentence = PARK_SENTENCES[self.reason] + (f" {self.detail}" if self.detail else "")
        release_slots(tx, run)
        stopped = parked(run, self.reason, sentence, self.owner, tx.now, self.heading, self.failure)
        tx.put(replace(stopped, budget_id=next(iter(parked_for(self.spent)), None)))
        tx.append(
            self.run_id,
            EntryKind.PARKED,
            name=self.reason.value,
            data={"sentence": sentence, "owner": self.owner["name"], "void": self.void, "heading": self.heading},
        )
        if self.cancelled_by is not None and not tx.must(RunRecord, self.cancelled_by).state.ended:
            tell_parent(tx, self.cancelled_by, self.run_id, RunState.PARKED)
        return True

    def _lifted(self, tx: Transaction) -> bool:
        """The stop that it would be parked for is over since it was ruled: whoever lifted it could not wake it."""
        if self.undrilled is not None:
            return not uncovered(tx, self.undrilled)
        if raised_since(tx, self.spent):
            return True
        if self.reason is ParkReason.WRITES_SUSPENDED:
            return all(suspension.lifted_at is not None for suspension in tx.all(SuspensionRecord))
        return self.reason is ParkReason.RESTORED and tx.installation.restore_state != "open"


@dataclass(frozen=True, slots=True)
class Finish(RunVerb):
    """The end of a run. Gives None, or the operation in doubt for which the run must be parked first (rule 15).

    What was never sent is withdrawn. The parent, if there is one, is woken.
    """

    fence: int
    state: RunState
    result: str | None
    failure: dict[str, Any] | None
    parent_run_id: str | None
    business_keys: tuple[str, ...]
    void: int | None = None  # the sequence of the failure that ended it, which a retry forgets
    held: tuple[str, ...] = ()  # the budgets in which its lost calls still hold something
    boundary: ClassVar[str] = "run.finished"
    ends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        reads = [
            Read.key(RunRecord, self.run_id), Read.by(OperationRecord, "run_id", self.run_id),
            Read.by(ReviewRecord, "run_id", self.run_id), followers_of(self.run_id),
        ]  # fmt: skip
        reads += [Read.by(BusinessKeyRecord, "business_key", key) for key in self.business_keys]
        if self.parent_run_id is not None:
            reads.append(Read.key(RunRecord, self.parent_run_id))
        return [*reads, *share_reads((), self.held)]

    def decide(self, tx: Transaction) -> OperationRecord | None:
        run = driven(tx, self.run_id, self.fence)
        operations = tx.find(OperationRecord, "run_id", self.run_id)
        for operation in operations:
            if in_doubt(operation):
                return operation
        for operation in operations:
            if operation.status is OperationStatus.PREPARED:
                self._withdraw(tx, operation)
        for review in tx.find(ReviewRecord, "run_id", self.run_id):
            if review.state is ReviewState.OPEN:
                tx.put(replace(review, state=ReviewState.SUPERSEDED, void="the run ended"))
        release_slots(tx, run)
        run = unmeasured(run, run.reserved_micros)  # every reserve ends with its run
        for call in calls_of(run):
            run = let_go(tx, run, call, None, self.held)
        tx.put(
            changed(
                run,
                state=self.state,
                reason=None,
                sentence=RUN_SENTENCES[self.state],
                deadline_at=None,
                due_at=None,
                heading=None,
                result=self.result,
                failure=None if self.failure is None else compact(self.failure),
                executing=0,
                worker_id=None,
                lease_until=None,
            )
        )
        release(tx, run)
        tx.append(self.run_id, EntryKind.FINISHED, name=self.state.value, data={"void": self.void})
        if self.parent_run_id is not None:
            tell_parent(tx, self.parent_run_id, self.run_id, self.state)
        return None

    def _withdraw(self, tx: Transaction, operation: OperationRecord) -> None:
        tx.put(
            replace(
                operation,
                version=operation.version + 1,
                status=OperationStatus.FAILED,
                reason="withdrawn",
                closed_at=tx.now,
                withdrawn=f"the run ended {self.state.value}",
            )
        )
        if operation.business_key is not None:
            for held in tx.find(BusinessKeyRecord, "business_key", operation.business_key):
                if held.operation_id == operation.operation_id:
                    tx.put(replace(held, held_until=tx.now))


@dataclass(frozen=True, slots=True)
class FinishAndWithdraw(Finish):
    """The same where something was never sent: withdrawing it forbids sending, so the outside marker follows."""

    sends: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Resume(RunVerb):
    """A person moves a parked run on. `raises` lifts budgets; `retry` also takes up a failed run and forgets its last failure."""

    by: str | None
    retry: bool
    raises: dict[str, int]
    deadlines: Deadlines
    reason: str = ""  # why, in the person's own words
    boundary: ClassVar[str] = "run.resumed"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.by(OperationRecord, "run_id", self.run_id),
            Read.by(ReviewRecord, "run_id", self.run_id), turns_behind(self.run_id), *acting_reads(self.by),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> RunRecord:
        run = tx.must(RunRecord, self.run_id)
        if self.by is not None:
            permitted(tx, self.by, about_run(self.act, run))
        self._check(tx, run)
        refuse_followed(tx, run)
        budget = higher(parsed(run.budget), self.raises)
        for operation in tx.find(OperationRecord, "run_id", self.run_id):
            # A park for a spent budget or a stop is lifted from what was never sent; a doubt stays with its resolver.
            if operation.reason in BUDGET_REASONS and not operation.status.closed:
                tx.put(replace(operation, version=operation.version + 1, reason=None))
        self._ask_again(tx)
        tx.put(
            replace(
                waited(run, tx.now),
                state=RunState.PENDING,
                reason=None,
                sentence=RUN_SENTENCES[RunState.PENDING],
                budget=compact(budget),
                due_at=tx.now,
                deadline_at=tx.now + self.deadlines.pending,
                failure=None,
                crashes=0,
                heading=run.heading if run.heading == "cancelled" else None,
            )
        )
        said = {
            "by": self.by,
            "retry": self.retry,
            "raises": self.raises,
            "from": run.reason or run.state.value,
            "reason": self.reason,
            "void": True,
        }
        tx.append(self.run_id, EntryKind.RESUMED, data=said)
        return tx.must(RunRecord, self.run_id)

    @property
    def act(self) -> Act:
        """What it takes the right to do. Whoever raises a limit moves the run on as well."""
        return Act.RETRY if self.retry else Act.RAISE if self.raises else Act.RESUME

    def _ask_again(self, tx: Transaction) -> None:
        """A revision was asked for and the workflow did not answer: going on means to ask about the same version again."""
        unsent = {
            o.operation_id: o.proposal_version
            for o in tx.find(OperationRecord, "run_id", self.run_id)
            if o.status is OperationStatus.PREPARED and not o.sent
        }
        for review in tx.find(ReviewRecord, "run_id", self.run_id):
            current = unsent.get(review.operation_id) == review.proposal_version
            if current and review.state is ReviewState.REJECTED and review.ask_revision:
                tx.put(replace(review, state=ReviewState.SUPERSEDED, void="asked again"))

    def _check(self, tx: Transaction, run: RunRecord) -> None:
        retryable = run.state is RunState.FAILED or (
            run.state is RunState.PARKED and run.reason == ParkReason.STEP_FAILED
        )
        resumable = run.state is RunState.PARKED and run.reason not in MOVED_OTHERWISE
        if not (retryable if self.retry else resumable):
            raise Refused("not_resumable", run_id=self.run_id, state=run.state.value, reason=run.reason)
        if run.state is RunState.PARKED:
            check_raised(run, self.raises)


MOVED_OTHERWISE = frozenset(
    {
        ParkReason.OUTCOME_UNKNOWN, ParkReason.RECEIVER_MISMATCH, ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT,
        ParkReason.INCONSISTENT, ParkReason.ORDER_OVERTAKEN, ParkReason.DUPLICATE_FOUND, ParkReason.STEP_FAILED,
        ParkReason.INTERRUPTED_TOOL,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Overdue(RunVerb):
    """A state's deadline has passed: that is an entry, and it moves the run. Gives True when it did."""

    owner: dict[str, Any]
    boundary: ClassVar[str] = "run.parked"
    ends: ClassVar[bool] = True

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id)
        if run.deadline_at is None or run.deadline_at > tx.now or run.state.ended:
            return False
        if run.state is RunState.PARKED:
            self._next_owner(tx, run)
            return True
        reason = _OVERDUE[run.state]
        needs = f" It needs {run.workflow} version {run.workflow_version}." if reason is ParkReason.NO_WORKER else ""
        sentence = PARK_SENTENCES[reason] + needs
        release_slots(tx, run)
        tx.put(parked(run, reason, sentence, self.owner, tx.now, None, None))
        said = {"sentence": sentence, "owner": self.owner["name"]}
        tx.append(self.run_id, EntryKind.PARKED, name=reason.value, data=said)
        return True

    def _next_owner(self, tx: Transaction, run: RunRecord) -> None:
        # With no next owner it stays with the one it has, and shows as overdue; it is never silently dropped.
        owner = run.owner_then or run.owner
        tx.put(
            replace(run, owner=owner, owner_then=None, deadline_at=tx.now + 24 * HOUR_US, due_at=tx.now + 24 * HOUR_US)
        )
        tx.append(
            self.run_id,
            EntryKind.PARKED,
            name=run.reason,
            data={"sentence": run.sentence, "owner": owner, "overdue": True},
        )


_OVERDUE = {
    RunState.PENDING: ParkReason.NO_WORKER,
    RunState.RUNNING: ParkReason.NO_PROGRESS,
    RunState.WAITING: ParkReason.EXPIRED,
}
