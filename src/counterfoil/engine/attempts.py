"""One try to send: in flight before a byte leaves, and whatever came back after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.advance import Advanced, advanced
from counterfoil.engine.budgets import hold, let_go
from counterfoil.engine.situation import Target, needed, newest_review, operation_in, situation_in
from counterfoil.engine.tap import give_back, take_slot
from counterfoil.engine.verb import RunVerb, driven
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.codec import compact, digest_of, parsed
from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.exchange import Exchange
from counterfoil.model.installation import ContractRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.gather import gather
from counterfoil.rules.key_window import key_of, same_bytes
from counterfoil.rules.recovery import Kind, rule
from counterfoil.rules.recovery_facts import Resolution
from counterfoil.rules.retry import retry_after_us
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

_CLOSED_WITHOUT_EFFECT = frozenset({Meaning.REFUSED, Meaning.NOT_APPLIED})


@dataclass(frozen=True, slots=True)
class MarkInFlight(RunVerb):
    """Rows 10: authority, fence, budget and stops are checked here, in the transaction, on every attempt.

    Gives the attempt, or what the table ruled instead; then nothing may leave.
    `deadline_at` comes from a reading taken before this verb was queued.
    """

    target: Target
    fence: int
    worker_id: str
    host: str
    boot_id: str
    request_digest: str | None
    deadline_at: int
    boundary: ClassVar[str] = "operation.in_flight"
    sends: ClassVar[bool] = True
    departs: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> AttemptRecord | Advanced:
        driven(tx, self.run_id, self.fence)
        operation = operation_in(tx, self.target)
        situation = situation_in(tx, self.target)
        facts = gather(situation)
        case, ruling = rule(facts)
        if ruling.kind not in (Kind.SEND, Kind.REPEAT):
            return advanced(tx, self.target, operation)
        if self.request_digest is not None and not same_bytes(situation, self.request_digest):
            return self._other_bytes(tx, operation)
        new_key = facts.resolution is Resolution.AGAIN_NEW
        key_number = operation.key_number + int(new_key)
        attempt = self._attempt(tx, operation, key_number)
        self._draw_approval(tx, attempt)
        self._draw_budgets(tx, operation, attempt)
        take_slot(tx, self.target.tap, attempt)
        tx.put(attempt)
        tx.put(
            replace(
                operation,
                version=operation.version + 1,
                status=OperationStatus.IN_FLIGHT,
                sent=1,
                attempts=attempt.n,
                key_number=key_number,
                first_sent_at=tx.now if new_key or not operation.sent else operation.first_sent_at,
                key_state=None if new_key else operation.key_state,
                case_letter=case.letter,
                case_sentence=case.sentence,
                in_progress_until=None,
                reason=None,
            )
        )
        tx.append(
            self.run_id,
            EntryKind.IN_FLIGHT,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "attempt_id": attempt.attempt_id,
                "n": attempt.n,
                "ruling": ruling.kind.value,
            },
        )
        return attempt

    def _other_bytes(self, tx: Transaction, operation: OperationRecord) -> Advanced:
        """Other bytes under a key that carried some already: at this receiver that may be a second effect."""
        mismatched = replace(operation, version=operation.version + 1, key_state="mismatched")
        tx.put(mismatched)
        _ruled(tx, operation, key_state=mismatched.key_state)
        return advanced(tx, self.target, mismatched)

    def _attempt(self, tx: Transaction, operation: OperationRecord, key_number: int) -> AttemptRecord:
        contract = Contract.from_stored(parsed(tx.must(ContractRecord, self.target.contract_digest).body))
        n = operation.attempts + 1
        review = newest_review(tx.find(ReviewRecord, "operation_id", operation.operation_id))
        return AttemptRecord(
            attempt_id=ids.attempt_id(operation.operation_id, n),
            operation_id=operation.operation_id,
            run_id=self.run_id,
            n=n,
            worker_id=self.worker_id,
            host=self.host,
            boot_id=self.boot_id,
            fence=self.fence,
            key_number=key_number,
            idempotency_key=key_of(contract, operation, key_number),
            scope=self.target.scope,
            request_digest=self.request_digest,
            review_id=None if review is None else review.review_id,
            started_at=tx.now,
            deadline_at=self.deadline_at,
            ended_at=None,
            sender_gone_at=None,
            sent=1,
            reached="nothing",
            answer_status=None,
            answer_class=None,
            answer_at=None,
            exchange=None,
            late=0,
            closed=0,
        )

    def _draw_budgets(self, tx: Transaction, operation: OperationRecord, attempt: AttemptRecord) -> None:
        """What earlier tries still hold, whose worker died, counts as used from here on."""
        run = tx.must(RunRecord, self.run_id)
        named = {share.budget_id for share in self.target.shares} | set(self.target.held)
        drawn = run
        for earlier in tx.find(AttemptRecord, "operation_id", operation.operation_id):
            drawn = let_go(tx, drawn, earlier.attempt_id, None, named)
        drawn = hold(tx, drawn, self.target.shares, attempt.attempt_id, needed(operation))
        if drawn is not run:
            tx.put(drawn)

    def _draw_approval(self, tx: Transaction, attempt: AttemptRecord) -> None:
        """An approval is used once: by the operation's first attempt that draws on it."""
        for review in tx.find(ReviewRecord, "operation_id", attempt.operation_id):
            if review.review_id == attempt.review_id and review.used_by is None:
                tx.put(replace(review, used_by=attempt.attempt_id))


@dataclass(frozen=True, slots=True)
class EndAttempt(RunVerb):
    """What came back. Needs no lease and no authority: evidence is recorded whoever drives the run by now.

    `receipt` is the typed receipt's JSON when the answer was applied; `exchange` is None when nothing was sent at all.
    """

    target: Target
    attempt_id: str
    fence: int
    exchange: Exchange
    meaning: Meaning
    receipt: dict[str, Any] | None
    boundary: ClassVar[str] = "operation.classified"

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> Advanced:
        operation = operation_in(tx, self.target)
        attempts = tx.find(AttemptRecord, "operation_id", operation.operation_id)
        attempt = next(a for a in attempts if a.attempt_id == self.attempt_id)
        run = tx.must(RunRecord, self.run_id)
        late = attempt.late or int(
            run.fence != self.fence or attempt.n != operation.attempts or attempt.ended_at is not None
        )
        ended = self._ended(attempt, tx.now, late)
        tx.put(ended)
        give_back(tx, self.target.tap, attempt.attempt_id, self.exchange)
        applied = self.meaning is Meaning.APPLIED and self.receipt is not None
        if applied:
            tx.put(self._receipt(operation, tx.now))
        named = {share.budget_id for share in self.target.shares} | set(self.target.held)
        moved = let_go(tx, run, attempt.attempt_id, {} if applied else {"attempts": 1}, named)
        if not applied and not late:
            moved = replace(moved, failed_tries=run.failed_tries + 1)
        if moved is not run:
            tx.put(moved)
        changed = self._changed(tx.now, operation, [ended if a.attempt_id == ended.attempt_id else a for a in attempts])
        if not operation.status.closed and not ended.closed and self.receipt is None and operation.doubt_at is None:
            changed = replace(changed, doubt_at=tx.now)  # the first answer that leaves its outcome open
        tx.put(replace(changed, version=operation.version + 1))
        if late:
            wake(tx, self.run_id)  # whoever drives or owns the run by now learns what this one knew
        tx.append(
            self.run_id,
            EntryKind.LATE if late else EntryKind.CLASSIFIED,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "attempt_id": attempt.attempt_id,
                "reached": self.exchange.reached,
                "sent": "maybe" if ended.sent else "no",
                "status": self.exchange.status,
                "class": self.meaning.value,
            },
        )
        return advanced(tx, self.target, replace(changed, version=operation.version + 1))

    def _ended(self, attempt: AttemptRecord, now: int, late: int) -> AttemptRecord:
        answered = self.exchange.status is not None
        return replace(
            attempt,
            ended_at=attempt.ended_at or now,
            sender_gone_at=attempt.sender_gone_at or now,
            sent=int(self.exchange.sent),
            reached=self.exchange.reached,
            answer_status=self.exchange.status,
            answer_class=self.meaning.value,
            answer_at=now if answered else None,
            exchange=self.exchange.kept(),
            late=late,
            # Only our own sending layer proves "never left" (rule 2); a refusal closes its own attempt alone (rule 5).
            closed=int(not self.exchange.sent or self.meaning in _CLOSED_WITHOUT_EFFECT),
        )

    def _receipt(self, operation: OperationRecord, now: int) -> ReceiptRecord:
        assert self.receipt is not None
        body = compact(self.receipt)
        digest = digest_of(body.encode())
        return ReceiptRecord(
            ids.receipt_id(operation.operation_id, "reply", digest),
            operation.operation_id,
            self.run_id,
            self.attempt_id,
            "reply",
            str(self.receipt["reference"]),
            body,
            digest,
            "current_state" if self.exchange.replayed else "first_result",
            now,
        )

    def _changed(self, now: int, operation: OperationRecord, attempts: Sequence[AttemptRecord]) -> OperationRecord:
        key_state = operation.key_state
        if self.meaning is Meaning.KEY_POISONED:
            key_state = "poisoned"
        elif self.meaning is Meaning.KEY_MISMATCH:
            key_state = "mismatched"
        if operation.status.closed:
            return replace(operation, key_state=key_state)
        asked = retry_after_us(self.exchange.headers) if self.meaning is Meaning.IN_PROGRESS else None
        lost = (
            operation.first_sent_at is not None and operation.first_sent_at < attempts[0].started_at
        )  # before a restore
        sent = int(lost or any(attempt.sent for attempt in attempts))
        status = operation.status if sent else OperationStatus.PREPARED
        return replace(
            operation,
            key_state=key_state,
            sent=sent,
            status=status,
            in_progress_until=None if asked is None else now + asked,
            first_sent_at=operation.first_sent_at if sent else None,
            doubt_at=operation.doubt_at if sent else None,
        )


def senders_gone(
    attempts: Sequence[AttemptRecord], worker_id: str, is_gone: Callable[[AttemptRecord], bool]
) -> tuple[str, ...]:
    """Attempts whose process is newly proven dead, by id. `worker_id` is who asks: it lives."""
    return tuple(
        attempt.attempt_id
        for attempt in attempts
        if attempt.sender_gone_at is None and attempt.worker_id != worker_id and is_gone(attempt)
    )


@dataclass(frozen=True, slots=True)
class SenderGone(RunVerb):
    """The lock that the sender's process held on this host is free: it can no longer send."""

    target: Target
    attempt_ids: tuple[str, ...]
    boundary: ClassVar[str] = "operation.advanced"

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> Advanced:
        for attempt in tx.find(AttemptRecord, "operation_id", self.target.operation_id):
            if attempt.attempt_id in self.attempt_ids and attempt.sender_gone_at is None:
                tx.put(replace(attempt, sender_gone_at=tx.now, ended_at=attempt.ended_at or tx.now))
                give_back(tx, self.target.tap, attempt.attempt_id)
        operation = operation_in(tx, self.target)
        _ruled(tx, operation, sender_gone=list(self.attempt_ids))
        return advanced(tx, self.target, operation)


def _ruled(tx: Transaction, operation: OperationRecord, **learned: Any) -> None:
    """An entry of what was learned about the operation, which closes nothing."""
    said = {"operation_id": operation.operation_id, "version": operation.proposal_version, **learned}
    tx.append(operation.run_id, EntryKind.RULED, name=operation.name, data=said)
