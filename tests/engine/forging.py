"""A process that can write the database, and holds no approval key: it forges rows and entries through the store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

HOURS = 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Forge(RunVerb):
    """An approved review with its answer, and the entry that would tell of it; also a key of its own, if given."""

    review_id: str
    answer: dict[str, Any]
    key: ApprovalKeyRecord | None = None
    boundary: ClassVar[str] = "review.answered"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.key(ReviewRecord, self.review_id), Read.all(ApprovalKeyRecord))

    def decide(self, tx: Transaction) -> None:
        review = tx.must(ReviewRecord, self.review_id)
        decided = {"reviewer": "ana", "decided_at": tx.now, "comment": "", "expires_at": tx.now + 8 * HOURS}
        tx.put(replace(review, state=ReviewState.APPROVED, **decided))
        answer = AnswerRecord(
            "ans_forged", review.review_id, self.run_id, "ana", "approve", review.digest, "", 0, tx.now, "now"
        )
        tx.put(replace(answer, **self.answer))
        if self.key is not None:
            tx.put(self.key)
        data = {"review_id": review.review_id, "operation_id": review.operation_id, "version": review.proposal_version}
        said = {"person": "ana", "decision": "approve", "comment": "", "ask_revision": False, "matched": "now"}
        tx.append(self.run_id, EntryKind.ANSWER, data=data | said | {"digest": review.digest, "kind": review.kind})
        wake(tx, self.run_id)


@dataclass(frozen=True, slots=True)
class Change(RunVerb):
    """Any row, with an entry beside it."""

    row: Any
    boundary: ClassVar[str] = "review.answered"

    def reads(self) -> Sequence[Read]:
        key = self.row.review_id if isinstance(self.row, ReviewRecord) else self.row.answer_id
        return (Read.key(RunRecord, self.run_id), Read.key(type(self.row), key))

    def decide(self, tx: Transaction) -> None:
        tx.put(self.row)
        tx.append(self.run_id, EntryKind.RULED, data={"operation_id": "", "version": 0})
        wake(tx, self.run_id)
