"""What must hold, judged apart from the rules: from the rows, the clocks and the receiver's own records."""

from counterfoil.model.operation import AttemptRecord, OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import RunState
from counterfoil.testing.explore.scene import CONTENT_OF, DIGESTS, TRIES, View
from counterfoil.testing.explore.state import State

INVARIANTS: dict[str, str] = {
    "one_effect": "The receiver holds at most one record for the operation.",
    "failed_over_effect": "What is recorded as failed did not happen, or an incident is open.",
    "success_without_effect": "What is recorded as succeeded has a receipt and happened.",
    "other_content": "What is recorded as succeeded happened in the words that were approved.",
    "approval": "Each attempt draws on a valid approval of its exact digest.",
    "approved_bytes": "What leaves is what was approved.",
    "stopped": "Nothing is marked in flight while sending is stopped.",
    "one_live_attempt": "One live attempt, and no attempt of a closed operation.",
    "fence": "Only who drives the run sends.",
    "budget": "No attempt is begun that the budget does not pay for.",
    "deadline": "No byte begins to leave after the attempt's deadline.",
    "owner": "Nothing waits without an owner and a time.",
    "ended_in_doubt": "A run ends only when its operation is closed.",
}


def marked_rightly(before: View, after: View, attempt: AttemptRecord, wall: int, *, jumped: bool) -> tuple[str, ...]:
    """What an in-flight record breaks."""
    operation = before.operation
    assert operation is not None
    restoring = before.installation.restore_state == "open"
    others = [a for a in before.attempts if a.ended_at is None and a.sender_gone_at is None and a.deadline_at > wall]
    found = {
        "approval": not _approved(before, attempt, operation.payload_digest, operation.proposal_version, wall),
        "stopped": before.suspended or restoring or before.incident_open or jumped,
        "one_live_attempt": bool(others) or operation.status.closed,
        "fence": any(a.fence != after.run.fence for a in after.attempts if a.attempt_id == attempt.attempt_id),
        "budget": before.run.failed_tries >= TRIES and f'"attempts":{TRIES}' in before.run.budget,
    }
    return tuple(name for name, broken in found.items() if broken)


def _approved(view: View, attempt: AttemptRecord, digest: str, version: int, wall: int) -> bool:
    review = next((r for r in view.reviews if r.review_id == attempt.review_id), None)
    if review is None or review.state is not ReviewState.APPROVED or review.void is not None:
        return False
    person = view.people.get(review.reviewer or "")
    return (
        (review.digest, review.proposal_version) == (digest, version)
        and review.expires_at > wall
        and review.incarnation == view.installation.incarnation
        and person is not None
        and person.revoked_at is None
        and review.used_by in (None, *(a.attempt_id for a in view.attempts))
    )


def sent_rightly(view: View, attempt: int, content: str, *, late: bool) -> tuple[str, ...]:
    """What the first byte of an attempt breaks. `late`: its deadline, by the clock that counts sleep, has passed."""
    row = next((a for a in view.attempts if a.n == attempt), None)
    review = next((r for r in view.reviews if row is not None and r.review_id == row.review_id), None)
    found = {"deadline": late, "approved_bytes": review is not None and review.digest != DIGESTS[content]}
    return tuple(name for name, broken in found.items() if broken)


def stands(view: View, state: State) -> tuple[str, ...]:
    """What a state breaks."""
    operation, run, effects = view.operation, view.run, state.receiver.effects
    waits = run.state in (RunState.WAITING, RunState.PARKED)
    broken = [] if not waits or (run.owner and run.deadline_at is not None) else ["owner"]
    if len(effects) > 1:
        broken.append("one_effect")
    if operation is None:
        return tuple(broken)
    status = operation.status
    if status is OperationStatus.FAILED and effects and not view.incident_open:
        broken.append("failed_over_effect")
    if status is OperationStatus.SUCCEEDED and (not effects or operation.receipt_id is None):
        broken.append("success_without_effect")
    approved = CONTENT_OF[operation.payload_digest]
    others = bool(effects) and all(effect.content != approved for effect in effects)
    if status is OperationStatus.SUCCEEDED and others and not view.incident_open:
        broken.append("other_content")
    if run.state.ended and not status.closed:
        broken.append("ended_in_doubt")
    if not status.closed and not operation.owner:
        broken.append("owner")
    return tuple(broken)
