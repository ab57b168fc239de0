"""Answers: stored before they are matched, and a second answer resolves to the first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.authority import may_decide
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Answered:
    """`decided` is now, or earlier when an answer stood already. `refused` is why this answer decides nothing, or None."""

    review: ReviewRecord
    decided: str
    refused: Refused | None


@dataclass(frozen=True, slots=True)
class Answer(RunVerb):
    """What the reviewer said about one digest. It is kept whatever it says; only a matching one decides.

    The person's secret was proven before this verb was queued; that the person may decide is checked here.
    """

    review_id: str
    operation_id: str
    person: str
    approve: bool
    digest: str
    comment: str
    ask_revision: bool
    boundary: ClassVar[str] = "review.answered"
    sends: ClassVar[bool] = True  # a rejection forbids sending, so the marker follows it

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id),
            Read.key(ReviewRecord, self.review_id),
            Read.by(AnswerRecord, "review_id", self.review_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.all(PersonRecord),
        )

    def decide(self, tx: Transaction) -> Answered:
        review = tx.must(ReviewRecord, self.review_id)
        _check_reviewer(tx, self.person, review.role)
        matched, refused = self._matched(review, tx.now)
        answers = tx.find(AnswerRecord, "review_id", self.review_id)
        tx.put(
            AnswerRecord(
                ids.derived("ans", self.review_id, str(len(answers))),
                self.review_id,
                self.run_id,
                self.person,
                "approve" if self.approve else "reject",
                self.digest,
                self.comment,
                int(self.ask_revision),
                tx.now,
                matched,
            )
        )
        if matched == "now":
            review = self._decided(review, tx.now)
            tx.put(review)
            wake(tx, self.run_id)
        tx.append(
            self.run_id,
            EntryKind.ANSWER,
            data={
                "review_id": self.review_id,
                "operation_id": self.operation_id,
                "version": review.proposal_version,
                "person": self.person,
                "decision": "approve" if self.approve else "reject",
                "comment": self.comment,
                "ask_revision": self.ask_revision,
                "digest": self.digest,
                "matched": matched,
                "kind": review.kind,
            },
        )
        return Answered(review, "now" if matched == "now" else "earlier", refused)

    def _matched(self, review: ReviewRecord, now: int) -> tuple[str, Refused | None]:
        if review.state in (ReviewState.APPROVED, ReviewState.REJECTED):
            same = (review.state is ReviewState.APPROVED) == self.approve and review.digest == self.digest
            return "earlier", None if same else Refused(
                "review_closed", review_id=review.review_id, state=review.state.value
            )
        if review.state is not ReviewState.OPEN or review.expires_at <= now:
            state = ReviewState.EXPIRED.value if review.state is ReviewState.OPEN else review.state.value
            return "expired" if state == "expired" else "closed", Refused(
                "review_closed", review_id=review.review_id, state=state
            )
        if review.digest != self.digest:
            return "other_digest", Refused(
                "digest_mismatch", review_id=review.review_id, asked=review.digest, given=self.digest
            )
        return "now", None

    def _decided(self, review: ReviewRecord, now: int) -> ReviewRecord:
        return replace(
            review,
            state=ReviewState.APPROVED if self.approve else ReviewState.REJECTED,
            reviewer=self.person,
            decided_at=now,
            comment=self.comment,
            ask_revision=int(self.ask_revision),
            # The time that a review allows runs anew for its approval: what is approved late is still good for a while.
            expires_at=now + (review.expires_at - review.opened_at) if self.approve else review.expires_at,
        )


@dataclass(frozen=True, slots=True)
class WithdrawApproval(RunVerb):
    """Take an approval back, until the first attempt. Raises Refused(already_sent) after it."""

    review_id: str
    operation_id: str
    person: str
    comment: str
    ask_revision: bool
    boundary: ClassVar[str] = "review.answered"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id),
            Read.key(ReviewRecord, self.review_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.all(PersonRecord),
        )

    def decide(self, tx: Transaction) -> ReviewRecord:
        review = tx.must(ReviewRecord, self.review_id)
        operation = tx.must(OperationRecord, review.operation_id)
        if operation.sent or operation.status is not OperationStatus.PREPARED:
            raise Refused("already_sent", operation_id=operation.operation_id)
        if review.state not in (ReviewState.APPROVED, ReviewState.OPEN):
            raise Refused("review_closed", review_id=review.review_id, state=review.state.value)
        _check_reviewer(tx, self.person, review.role)
        withdrawn = replace(
            review,
            state=ReviewState.REJECTED,
            reviewer=self.person,
            decided_at=tx.now,
            comment=self.comment,
            ask_revision=int(self.ask_revision),
            void="withdrawn",
        )
        tx.put(withdrawn)
        tx.append(self.run_id, EntryKind.WITHDRAWN, data=self._facts(review))
        wake(tx, self.run_id)
        return withdrawn

    def _facts(self, review: ReviewRecord) -> dict[str, Any]:
        return {
            "review_id": review.review_id,
            "operation_id": review.operation_id,
            "version": review.proposal_version,
            "person": self.person,
            "decision": "reject",
            "comment": self.comment,
            "ask_revision": self.ask_revision,
            "matched": "now",
            "kind": review.kind,
        }


def _check_reviewer(tx: Transaction, name: str, role: str) -> None:
    """Raises Refused(unknown_person | role_missing)."""
    people = tx.all(PersonRecord)
    person = next((person for person in people if person.name == name), None)
    if person is None:
        raise Refused("unknown_person", name=name)
    if not may_decide(person, role, people):
        raise Refused("role_missing", name=name, role=role)
