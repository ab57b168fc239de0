"""Guards of authority: what an approval is about, who stands behind it now, and that it serves once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from counterfoil.engine.reviews import Answer, Answered
from counterfoil.model.codec import compact, parsed
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.authority import Weighed
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction
from counterfoil.testing.guards.guard import Guard, Replacement

_CLOSED = (ReviewState.APPROVED, ReviewState.REJECTED)


def _about_anything(review: ReviewRecord, digest: str) -> bool:
    return True


def _stands_for_ever(original: Callable[..., Weighed | None]) -> Callable[..., Weighed | None]:
    def stands(*given: Any) -> Weighed | None:
        found = original(*given)
        return None if found is None else replace(found, covered=True)

    return stands


def _of_the_whole_run(original: Callable[[Transaction, OperationRecord], Sequence[ReviewRecord]]) -> Any:
    """Without a review of its own, an operation takes an approval that another one of this run has used already."""

    def own_reviews(tx: Transaction, operation: OperationRecord) -> Sequence[ReviewRecord]:
        own = original(tx, operation)
        others = tx.find(ReviewRecord, "run_id", operation.run_id)
        return own or [_taken(review, operation) for review in others if _fits(review, operation)]

    return own_reviews


def _fits(review: ReviewRecord, operation: OperationRecord) -> bool:
    same = review.digest == operation.payload_digest and parsed(review.scope)["operation"] == operation.name
    return same and review.state is ReviewState.APPROVED


def _taken(review: ReviewRecord, operation: OperationRecord) -> ReviewRecord:
    scope = parsed(review.scope) | {"operation_id": operation.operation_id, "business_key": operation.business_key}
    return replace(review, operation_id=operation.operation_id, used_by=None, scope=compact(scope))


def _decides_the_next(original: Callable[[Answer, Transaction], Answered]) -> Callable[[Answer, Transaction], Answered]:
    """A second click on a question that is decided answers the next one that is open in this run."""

    def decide(self: Answer, tx: Transaction) -> Answered:
        review = tx.must(ReviewRecord, self.review_id)
        others = tx.find(ReviewRecord, "run_id", self.run_id) if review.state in _CLOSED else []
        for other in others:
            if other.state is ReviewState.OPEN:
                moved = {"review_id": other.review_id, "operation_id": other.operation_id, "digest": other.digest}
                return original(replace(self, **moved, signed=None), cast("Transaction", _Wider(tx, self.run_id)))
        return original(self, tx)

    return decide


class _Wider:
    """A transaction that finds the reviews of every operation of the run, of which the answer named one only."""

    def __init__(self, tx: Transaction, run_id: str) -> None:
        self._tx = tx
        self._run_id = run_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def find(self, table: type[Any], index: str, value: str) -> list[Any]:
        if table is not ReviewRecord:
            return self._tx.find(table, index, value)
        reviews = self._tx.find(ReviewRecord, "run_id", self._run_id)
        return [review for review in reviews if getattr(review, index) == value]


def _reads_the_whole_run(original: Callable[[Any], Sequence[Read]]) -> Callable[[Any], tuple[Read, ...]]:
    return lambda self: (*original(self), Read.by(ReviewRecord, "run_id", self.run_id))


AUTHORITY: Sequence[Guard] = (
    Guard(
        "payload-digest",
        "An approval authorises one digest: other content is neither approved by an answer nor sent under it (rule 8).",
        (Replacement("counterfoil.rules.authority", "is_about", lambda original: _about_anything),),
    ),
    Guard(
        "approval-recheck",
        "On every attempt the reviewer's authority and the acting side's permission are looked at as they are then (rule 8).",
        (Replacement("counterfoil.engine.approving", "stands", _stands_for_ever),),
    ),
    Guard(
        "approval-single-use",
        "One approval serves one operation once, and a second answer never decides the next question (rule 8).",
        (
            Replacement("counterfoil.engine.situation", "own_reviews", _of_the_whole_run),
            Replacement("counterfoil.engine.situation", "Target.reads", _reads_the_whole_run),
            Replacement("counterfoil.engine.reviews", "Answer.decide", _decides_the_next),
            Replacement("counterfoil.engine.reviews", "Answer.reads", _reads_the_whole_run),
        ),
    ),
)
