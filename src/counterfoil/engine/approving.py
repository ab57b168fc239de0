"""Whether an approval stands as everything is now: its signatures, its reviewers, and the side that acts on it."""

from dataclasses import replace

from counterfoil.model.access import Act, ApprovalKeyRecord, GrantRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.authority import Weighed, weighed
from counterfoil.rules.permissions import Wish, allowed, standing_of
from counterfoil.rules.signing import Keys, keys_of
from counterfoil.rules.wishes import about_review
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def approving_reads(run_id: str) -> tuple[Read, ...]:
    """What `stands` looks at beside the run, the operation, its reviews and the people."""
    return (Read.by(AnswerRecord, "run_id", run_id), Read.all(ApprovalKeyRecord), Read.all(GrantRecord))


def keys_in(tx: Transaction) -> Keys:
    """The approval keys that count now."""
    return keys_of(tx.installation.installation_id, tx.all(ApprovalKeyRecord))


def stands(
    tx: Transaction, run: RunRecord, operation: OperationRecord, review: ReviewRecord | None, needed: int
) -> Weighed | None:
    """An approval as it is now; None where nothing is approved. `needed`: how many approvals the code asks for today."""
    if review is None or review.state is not ReviewState.APPROVED:
        return None
    people, grants = tx.all(PersonRecord), tx.all(GrantRecord)
    wish = about_review(Act.ANSWER, review, operation, run)
    found = weighed(
        review,
        tx.find(AnswerRecord, "run_id", review.run_id),
        people,
        needed=max(needed, review.needed),
        keys=keys_in(tx),
        installation_id=tx.installation.installation_id,
        may=lambda person: allowed(standing_of(person, people, grants), wish),
    )
    return Weighed(found.signed, found.covered and not _submitter_lost(tx, run, review))


def _submitter_lost(tx: Transaction, run: RunRecord, review: ReviewRecord) -> bool:
    """Who submitted the run lost the right to, after the approval was given. What was lost before, the reviewer approved."""
    people, grants, decided = tx.all(PersonRecord), tx.all(GrantRecord), review.decided_at or 0
    submitter = next((person for person in people if person.name == run.submitted_by), None)
    wish = Wish(Act.SUBMIT, run.workflow)
    if submitter is None or allowed(standing_of(submitter, people, grants), wish):
        return False
    then = [_before(grant, decided) for grant in grants if grant.granted_at <= decided]
    revoked = submitter.revoked_at
    as_it_was = submitter if revoked is None or revoked < decided else replace(submitter, revoked_at=None)
    return allowed(standing_of(as_it_was, people, then), wish)


def _before(grant: GrantRecord, at: int) -> GrantRecord:
    """The grant as it was then: not withdrawn yet. What happens in the very instant of the decision counts as later."""
    later = grant.withdrawn_at is not None and grant.withdrawn_at >= at
    return replace(grant, withdrawn_at=None) if later else grant
