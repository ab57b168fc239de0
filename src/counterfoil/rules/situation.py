"""Everything that is known about one operation, as records: what the facts are gathered from."""

from collections.abc import Sequence
from dataclasses import dataclass

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.rules.lost_history import maybe_lost

DAY_US = 24 * 3600 * 1_000_000
_EFFECTLESS = (Meaning.REFUSED, Meaning.NOT_APPLIED)


def is_live(attempt: AttemptRecord, now: int) -> bool:
    """It may still begin to send: no end and no answer is recorded, its deadline is not over, its sender not proven gone."""
    waiting = attempt.ended_at is None and attempt.answer_at is None and attempt.sender_gone_at is None
    return waiting and now < attempt.deadline_at


def is_closed(attempt: AttemptRecord) -> bool:
    """Proven without effect: by its own answer, by absence, or because our own layer saw that nothing left."""
    never_left = not attempt.sent and attempt.ended_at is not None
    return bool(attempt.closed) or never_left or attempt.answer_class in _EFFECTLESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The records of one operation, and what only its surroundings know. Times are integer microseconds.

    `contract`: the one in force, from its stored form. `review`: the newest of the operation. `authority_now`: whether
    the reviewers and the acting side still have the right; None (nobody looked) counts as no. `signed`: whether the answers
    bear the signatures that this installation demands. `stop`: what forbids sending besides an open restore or incident.
    `scope_now`: the scope digest a new attempt would carry. `budget`: left, not_yet or spent; `next_try_at`: when not_yet
    ends. `weighed_at`: when a closed incident of this operation was closed last. `approval_scope_now`: the digest of
    receiver and credential that approvals are bound to, where it is not `scope_now`. `patience_us`: how long a receiver
    that cannot be reached is asked in vain before its owner hears of the doubt. `run_from`: since when any history may have
    had its run (`lost_history.began`).
    """

    operation: OperationRecord
    contract: Contract
    attempts: Sequence[AttemptRecord]
    receipts: Sequence[ReceiptRecord]
    lookups: Sequence[LookupRecord]
    review: ReviewRecord | None
    review_needed: bool
    authority_now: bool | None
    incident_open: bool
    stop: str | None
    scope_now: str
    budget: str
    restore: InstallationRecord
    now: int
    run_from: int
    next_try_at: int | None = None
    weighed_at: int | None = None
    approval_scope_now: str | None = None
    signed: bool = True
    patience_us: int = DAY_US

    @property
    def live(self) -> bool:
        """Some attempt may still begin to send."""
        return any(is_live(attempt, self.now) for attempt in self.attempts)

    @property
    def restore_open(self) -> bool:
        """A restore, or a copy opened elsewhere, that no named person has finished."""
        return self.restore.restore_state == "open" or self.stop == "restored"

    @property
    def lost_attempts(self) -> bool:
        """Attempts may have been made that this database no longer knows.

        True for every operation whose identity could be derived before the restore was finished: of each run that was there
        by then, also where the restored head had not planned it, since the lost stretch may have planned and sent it.
        """
        restored_at = self.restore.restore_at
        return (
            self.restore_open
            or self.operation.incarnation < self.restore.incarnation
            or (restored_at is not None and self.operation.prepared_at <= restored_at)
            or maybe_lost(self.run_from, self.restore)
        )

    @property
    def maybe_sent(self) -> bool:
        """False only where every attempt never left, or was answered before execution.

        Once the operation is unknown, or a person has spoken about the doubt, it stays maybe.
        """
        operation = self.operation
        if operation.status in (OperationStatus.UNKNOWN, OperationStatus.SUCCEEDED) or operation.resolution is not None:
            return True
        # After a restore our memory of "never sent" may be older than a send that it has lost.
        if self.lost_attempts and operation.status is not OperationStatus.FAILED:
            return True
        if not self.attempts:
            return bool(operation.sent)
        return not all(
            is_closed(attempt) and (not attempt.sent or attempt.answer_class == Meaning.NOT_APPLIED)
            for attempt in self.attempts
        )

    @property
    def weighed_before(self) -> int:
        """Evidence from before this instant was weighed already: by the closing, by a person, or by a closed incident.

        Evidence of the very same instant is not: time is read once a batch, and a late answer may share its batch.
        """
        operation = self.operation
        times = [0, self.weighed_at or 0]
        if operation.status.closed:
            times += [operation.closed_at or 0, operation.resolved_at or 0]
        return max(times)
