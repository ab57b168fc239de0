"""A review as a person reads it: the question, what it rests on, and how to answer."""

from collections.abc import Sequence
from typing import Any, cast

from counterfoil.app.views.amount import amount_view
from counterfoil.app.views.approval import approval_view
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import answer_review, nothing_left, scheduled
from counterfoil.app.views.shown import Shown
from counterfoil.model import ids
from counterfoil.model.codec import parsed
from counterfoil.model.operation import OperationRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.review import REVIEW_SENTENCES, AnswerRecord, ReviewRecord, ReviewState


def review_view(shown: Shown, review: ReviewRecord, *, whole: bool = True) -> dict[str, Any]:
    """APPROVAL plus run_id, operation, owner, opened_at, deadline_at, next_action; with `whole` also payload and sources."""
    operation = shown.reader.get(OperationRecord, review.operation_id)
    view = approval_view(review) | {
        "run_id": review.run_id,
        "operation": None if operation is None else operation.name,
        "sentence": REVIEW_SENTENCES[review.state],
        "target": None if operation is None else operation.target,
        "amount": _amount(review, operation),
        "answers": answers_view(review, shown.reader.find(AnswerRecord, "review_id", review.review_id)),
        "owner": review.owner,
        "opened_at": rfc3339(review.opened_at),
        "deadline_at": rfc3339(review.expires_at) if review.state is ReviewState.OPEN else None,
        "next_action": _next(shown, review, operation),
    }
    if not whole:
        return view
    proposal = shown.reader.get(ProposalRecord, ids.proposal_id(review.operation_id, review.proposal_version))
    return view | {
        "payload": None if proposal is None else parsed(proposal.payload),
        "sources": [] if proposal is None else parsed(proposal.sources),
    }


def _amount(review: ReviewRecord, operation: OperationRecord | None) -> dict[str, Any] | None:
    """The amount of the version that is asked about, as its scope bounds it."""
    upper: Any = parsed(review.scope).get("upper_amount")
    return cast("dict[str, Any]", upper) if isinstance(upper, dict) else amount_view(operation)


def answers_view(review: ReviewRecord, answers: Sequence[AnswerRecord]) -> dict[str, Any]:
    """`{needed, given: [{person, decision, at, comment, signed}]}`: the answers that count, in the order given."""
    counted = [answer for answer in answers if answer.matched == "now"]
    return {
        "needed": review.needed,
        "given": [
            {
                "person": answer.person, "decision": answer.decision, "at": rfc3339(answer.at), "comment": answer.comment,
                "signed": answer.signature is not None,
            }
            for answer in counted
        ],
    }  # fmt: skip


def _next(shown: Shown, review: ReviewRecord, operation: OperationRecord | None) -> dict[str, Any]:
    if review.state is ReviewState.OPEN:
        return answer_review(shown, review)
    if (
        review.state is ReviewState.APPROVED
        and operation is not None
        and not operation.sent
        and not operation.status.closed
    ):
        return scheduled("send", "A worker sends it when everything allows it.", review.expires_at)
    return nothing_left(REVIEW_SENTENCES[review.state])
