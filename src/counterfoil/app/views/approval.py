"""APPROVAL: a review, whatever its state, and what has changed since it was approved."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.authority import may_decide


def approval_view(review: ReviewRecord) -> dict[str, Any]:
    """The APPROVAL shape of the command line."""
    return {
        "review_id": review.review_id,
        "number": review.number,
        "operation_id": review.operation_id,
        "kind": review.kind,
        "state": review.state.value,
        "reviewer": review.reviewer,
        "role": review.role,
        "proposal_version": review.proposal_version,
        "digest": review.digest,
        "scope": _shown_scope(review),
        "decided_at": rfc3339(review.decided_at),
        "expires_at": rfc3339(review.expires_at),
        "used_by": review.used_by,
        "void": review.void,
        "comment": review.comment,
    }


def shown_key(business_key: str | None) -> str | None:
    """A stored business key is joined with receiver, environment and operation; people see the key alone."""
    return None if business_key is None else business_key.rpartition("\x1f")[2]


def newest_approval(reviews: Sequence[ReviewRecord]) -> ReviewRecord | None:
    """The newest approved review, else the newest of all; `reviews` are one operation's, by number."""
    approved = [review for review in reviews if review.state is ReviewState.APPROVED]
    return (approved or list(reviews) or [None])[-1]


def changes_since(
    shown: Shown,
    operation: OperationRecord,
    reviews: Sequence[ReviewRecord],
    entries: Sequence[Entry],
) -> list[dict[str, Any]]:
    """`[{what, approved, now}]` for an open operation's newest approval, from facts in the database only."""
    approval = next((review for review in reversed(reviews) if review.state is ReviewState.APPROVED), None)
    if approval is None or operation.status.closed:
        return []
    compared = [
        ("proposal_version", approval.proposal_version, operation.proposal_version),
        ("digest", approval.digest, operation.payload_digest),
        *_scope(approval, operation),
        *_contract(approval, operation, entries),
        *_authority(shown, approval),
    ]
    if approval.void is not None:
        compared.append(("approval", "valid", approval.void))
    elif approval.expires_at <= shown.now:
        compared.append(("approval", f"valid until {rfc3339(approval.expires_at)}", "expired"))
    number = operation.number
    return [
        {"what": f"{what} of op-{number}", "approved": was, "now": now} for what, was, now in compared if was != now
    ]


def _shown_scope(review: ReviewRecord) -> dict[str, Any]:
    scope: dict[str, Any] = parsed(review.scope)
    return scope | {"business_key": shown_key(scope.get("business_key"))}


def _scope(approval: ReviewRecord, operation: OperationRecord) -> list[tuple[str, Any, Any]]:
    scope = _shown_scope(approval)
    now: dict[str, Any] = {
        "operation": operation.name, "receiver": operation.receiver, "environment": operation.environment,
        "business_key": shown_key(operation.business_key),
    }  # fmt: skip
    # The credential is compared where it is known: in the transaction that sends. The database holds only its digest.
    return [(part, scope[part], value) for part, value in now.items() if part in scope]


def _contract(
    approval: ReviewRecord, operation: OperationRecord, entries: Sequence[Entry]
) -> list[tuple[str, Any, Any]]:
    """The contract in force when the answer was given, as the journal's row changes tell it."""
    in_force: str | None = None
    for entry in entries:
        body = parsed(entry.body)
        changed = body.get("rows", {}).get("operations", {}).get(operation.operation_id, {})
        in_force = changed.get("contract_digest", in_force)
        if entry.kind is EntryKind.ANSWER and body["data"].get("review_id") == approval.review_id:
            break
    return [] if in_force is None else [("contract", in_force, operation.contract_digest)]


def _authority(shown: Shown, approval: ReviewRecord) -> list[tuple[str, Any, Any]]:
    person = next((person for person in shown.people if person.name == approval.reviewer), None)
    if person is None:
        return [("reviewer", approval.reviewer, None)]
    if person.revoked_at is not None:
        return [("reviewer", approval.reviewer, f"revoked at {rfc3339(person.revoked_at)}")]
    if not may_decide(person, approval.role, shown.people):
        return [("reviewer", f"{person.name} as {approval.role}", f"{person.name} without that role")]
    return []
