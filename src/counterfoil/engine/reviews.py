"""Answers: stored before they are matched, and a second answer resolves to the first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import permitted
from counterfoil.engine.approving import approving_reads, keys_in
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.access import Act, ApprovalKeyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.authority import acts_alone, approvals_of, heads, is_about, proposers
from counterfoil.rules.links import Link, answer_id_of, check_person, check_use, link_in
from counterfoil.rules.signing import expires_at_of, holds
from counterfoil.rules.wishes import about_review
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Answered:
    """`decided` is now, or earlier when an answer stood already. `refused` is why this answer decides nothing, or None."""

    review: ReviewRecord
    decided: str
    refused: Refused | None


@dataclass(frozen=True, slots=True)
class Signature:
    """What the answering process signed, and with which key. All as text; the signature as hex."""

    key_id: str
    statement: str
    signature: str


@dataclass(frozen=True, slots=True)
class Answer(RunVerb):
    """What the reviewer said about one digest. It is kept whatever it says; only a matching one decides.

    Where several approvals are needed the review stays open until enough different people gave theirs; one rejection
    rejects. The person's identity was proven before this verb was queued; that the person may decide is checked here, and
    so is the signature, before anything is stored. `link`: the signed link that it came through, as its token; each person
    answers through it once.
    """

    review_id: str
    operation_id: str
    person: str
    approve: bool
    digest: str
    comment: str
    ask_revision: bool
    signed: Signature | None = None
    link: str | None = None
    boundary: ClassVar[str] = "review.answered"
    sends: ClassVar[bool] = True  # a rejection forbids sending, so the marker follows it

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id),
            Read.key(ReviewRecord, self.review_id),
            Read.by(ReviewRecord, "operation_id", self.operation_id),
            Read.by(OperationRecord, "run_id", self.run_id),
            Read.all(PersonRecord),
            *approving_reads(self.run_id),
        )

    def decide(self, tx: Transaction) -> Answered:
        review = tx.must(ReviewRecord, self.review_id)
        run, operation = tx.must(RunRecord, self.run_id), tx.must(OperationRecord, self.operation_id)
        permitted(tx, self.person, about_review(Act.ANSWER, review, operation, run))
        answers = [a for a in tx.find(AnswerRecord, "run_id", self.run_id) if a.review_id == self.review_id]
        given = approvals_of(review, answers)
        matched, refused = self._matched(tx, review, [answer.person for answer in given])
        link = None if self.link is None else self._link(tx, self.link, review, answers)
        answer = self._answer(tx, len(answers), matched, link)
        if self.approve:
            self._check_approval(tx, review, answer)
        tx.put(answer)
        if matched == "now":
            review = self._decided(tx, review, answer, len(given) + 1)
        tx.append(
            self.run_id,
            EntryKind.ANSWER,
            data={
                "review_id": self.review_id,
                "operation_id": self.operation_id,
                "version": review.proposal_version,
                "person": self.person,
                "decision": answer.decision,
                "comment": self.comment,
                "ask_revision": self.ask_revision,
                "digest": self.digest,
                "matched": matched,
                "kind": review.kind,
                **({} if link is None else {"link": link.link_id}),
            },
        )
        return Answered(review, "now" if matched == "now" else "earlier", refused)

    def _link(self, tx: Transaction, token: str, review: ReviewRecord, answers: Sequence[AnswerRecord]) -> Link:
        """Here, where two answers are one after the other. Raises Refused(link_*): nothing is stored then."""
        link = link_in(token, tx.installation.installation_id, tx.all(ApprovalKeyRecord))
        check_person(link, self.person, tx.all(PersonRecord))
        check_use(link, self.person, review, answers, tx.now)
        if link.digest != self.digest:
            raise Refused("link_stale", review_id=review.review_id)
        return link

    def _answer(self, tx: Transaction, count: int, matched: str, link: Link | None) -> AnswerRecord:
        signed = self.signed
        plain = ids.derived("ans", self.review_id, str(count))
        return AnswerRecord(
            answer_id=plain if link is None else answer_id_of(link, self.person),
            review_id=self.review_id,
            run_id=self.run_id,
            person=self.person,
            decision="approve" if self.approve else "reject",
            digest=self.digest,
            comment=self.comment,
            ask_revision=int(self.ask_revision),
            at=tx.now,
            matched=matched,
            key_id=None if signed is None else signed.key_id,
            signature=None if signed is None else signed.signature,
            statement=None if signed is None else signed.statement,
        )

    def _check_approval(self, tx: Transaction, review: ReviewRecord, answer: AnswerRecord) -> None:
        """Raises Refused(own_proposal | approval_unsigned | signature_invalid): nothing is stored then."""
        people = tx.all(PersonRecord)
        person = next(person for person in people if person.name == self.person)
        proposed = proposers(
            tx.must(RunRecord, self.run_id), review, tx.find(ReviewRecord, "operation_id", self.operation_id)
        )
        if acts_alone(person, proposed, people, single_person=bool(tx.installation.single_person)):
            raise Refused("own_proposal", name=self.person, role=review.role)
        keys = keys_in(tx)
        # What says of another digest, or comes too late, decides nothing: it is kept as it came.
        if not keys.required or answer.matched != "now":
            return
        if self.signed is None:
            raise Refused("approval_unsigned")
        if not holds(keys, tx.installation.installation_id, review, answer):
            raise Refused("signature_invalid", problem="it is not about this question, or by no key that counts")
        if expires_at_of(answer) <= tx.now:
            raise Refused("signature_invalid", problem="the clock of the answering process is behind")

    def _matched(self, tx: Transaction, review: ReviewRecord, given: Sequence[str]) -> tuple[str, Refused | None]:
        if review.state in (ReviewState.APPROVED, ReviewState.REJECTED):
            same = (review.state is ReviewState.APPROVED) == self.approve and review.digest == self.digest
            return "earlier", None if same else Refused(
                "review_closed", review_id=review.review_id, state=review.state.value
            )
        if review.state is not ReviewState.OPEN or review.expires_at <= tx.now:
            state = ReviewState.EXPIRED.value if review.state is ReviewState.OPEN else review.state.value
            return "expired" if state == "expired" else "closed", Refused(
                "review_closed", review_id=review.review_id, state=state
            )
        if not is_about(review, self.digest):
            return "other_digest", Refused(
                "digest_mismatch", review_id=review.review_id, asked=review.digest, given=self.digest
            )
        people = tx.all(PersonRecord)
        if self.approve and heads([self.person], people) <= heads(given, people):
            return "earlier", None  # this person, or whom it stands in for, approved already
        return "now", None

    def _decided(self, tx: Transaction, review: ReviewRecord, answer: AnswerRecord, approvals: int) -> ReviewRecord:
        """The review after an answer that counts: as it was while others must still approve."""
        if self.approve and approvals < review.needed:
            return review
        # The time that a review allows runs anew for its approval: what is approved late is still good for a while.
        good_until = tx.now + (review.expires_at - review.opened_at)
        if self.approve and self.signed is not None:
            good_until = min(good_until, expires_at_of(answer))
        decided = replace(
            review,
            state=ReviewState.APPROVED if self.approve else ReviewState.REJECTED,
            reviewer=self.person,
            decided_at=tx.now,
            comment=self.comment,
            ask_revision=int(self.ask_revision),
            expires_at=good_until if self.approve else review.expires_at,
        )
        tx.put(decided)
        wake(tx, self.run_id)
        return decided


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
            *approving_reads(self.run_id),
        )

    def decide(self, tx: Transaction) -> ReviewRecord:
        review = tx.must(ReviewRecord, self.review_id)
        operation = tx.must(OperationRecord, review.operation_id)
        if operation.sent or operation.status is not OperationStatus.PREPARED:
            raise Refused("already_sent", operation_id=operation.operation_id)
        if review.state not in (ReviewState.APPROVED, ReviewState.OPEN):
            raise Refused("review_closed", review_id=review.review_id, state=review.state.value)
        permitted(tx, self.person, about_review(Act.WITHDRAW, review, operation, tx.must(RunRecord, self.run_id)))
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
