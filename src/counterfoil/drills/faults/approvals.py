"""Faults of people: an answer comes twice, late or for another version, or its giver loses the right before it is used."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.acting import MODULE
from counterfoil.drills.faults.holding import again, ended, row, rows, sending, wait_stopped
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import REVIEWERS
from counterfoil.drills.stage import Stage
from counterfoil.model.codec import digest_of
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.testing.children import Child

TWICE, LATE, OTHER, WITHDRAWN = "answer-twice", "answer-late", "answer-other-version", "authority-withdrawn"
WORK = "counterfoil.drills.life:work"
ANSWER, REVOKE = f"{MODULE}:answer", f"{MODULE}:revoke"
ANA, OSCAR, INES = REVIEWERS
ELSEWHERE = digest_of(b"another version")


def at_reviews(fault: str) -> Callable[[Learned], Iterator[Planned]]:
    """Every review that was opened."""
    return lambda learned: (learned.planned(passed, fault) for passed in learned.at("review.opened"))


def other_versions(learned: Learned) -> Iterator[Planned]:
    """Every review; and once more for the version that a revision has overtaken."""
    for passed in learned.at("review.opened"):
        yield learned.planned(passed, OTHER)
        yield replace(learned.planned(passed, OTHER), variant="stale")


def reviewed_sends(learned: Learned) -> Iterator[Planned]:
    """Before every send that an approval stands behind."""
    for passed in learned.at("operation.in_flight"):
        operation = learned.operation_of(passed)
        if operation is not None and operation.reviewed:
            yield learned.planned(passed, WITHDRAWN)


# ---------------------------------------------------------------------- answers


def answered_twice(stage: Stage, planned: Planned) -> Applied:
    """Two processes approve at the same instant; then somebody rejects. The first answer stands."""
    review = _asked(stage, planned)
    first = [_wish(review, person, approve=True) for person in REVIEWERS[: max(2, review.needed)]]
    both = [stage.start(ANSWER, answers=[wish], together=True) for wish in first]
    wrong = _at_once(both)
    told = [said(child)["answers"][0] for child in both]
    decided = [each.get("decided", each.get("refused")) for each in told]
    if decided.count("now") != review.needed or not set(decided) <= {"now", "earlier"}:
        wrong.append(f"{review.needed} approvals were to decide; the answers were {decided}.")
    wrong += ended(
        stage.start(WORK)
    )  # as far as it comes: perhaps to the next question, which is not what is answered now
    waiting = _open(stage)
    again_and_against = [_wish(review, ANA, approve=True), _wish(review, INES, approve=False)]
    told += said(stage.lives(ANSWER, answers=again_and_against))["answers"]
    if _open(stage) != waiting:
        wrong.append("A second answer to a question that was decided has decided another one.")
    if [told[-2].get("decided"), told[-1].get("refused")] != ["earlier", "review_closed"] or row(
        stage, ReviewRecord, review.review_id
    ).state is not ReviewState.APPROVED:
        wrong.append(f"A rejection after the decision was answered {told[-1]}.")
    wrong += _kept(stage, review, len(told))
    wrong += ended(stage.start())
    proof = {"review": review.review_id, "together": [child.pid for child in both], "answers": told}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


def answered_late(stage: Stage, planned: Planned) -> Applied:
    """The time of a review is over, and nobody has written that down yet: an approval now decides nothing."""
    review = _asked(stage, planned)
    wrong = ended(stage.start(WORK))  # the run waits, nobody drives it, and nobody sees the time of its review pass
    stage.clock.skip_to(review.expires_at + 1_000_000)
    if row(stage, ReviewRecord, review.review_id).state is not ReviewState.OPEN:
        raise NotApplied("The review was not open any more when its time was over.")
    (told,) = said(stage.lives(ANSWER, answers=[_wish(review, ANA, approve=True)]))["answers"]
    if told.get("refused") != "review_closed":
        wrong.append(f"An approval after its time was answered {told}.")
    wrong += _kept(stage, review, 1)
    wrong += ended(stage.start())
    if row(stage, ReviewRecord, review.review_id).used_by is not None:
        wrong.append("What was approved too late was sent under that approval.")
    proof = {"review": review.review_id, "expired_at": review.expires_at, "answer": told}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


def answered_other(stage: Stage, planned: Planned) -> Applied:
    """An approval of another digest than is asked, or of a version that is no longer the newest."""
    review = _asked(stage, planned)
    return _stale(stage, review) if planned.variant == "stale" else _other_digest(stage, review)


def _other_digest(stage: Stage, review: ReviewRecord) -> Applied:
    wish = _wish(review, ANA, approve=True) | {"digest": ELSEWHERE}
    (told,) = said(stage.lives(ANSWER, answers=[wish]))["answers"]
    wrong = [] if told.get("refused") == "digest_mismatch" else [f"An approval of another digest was answered {told}."]
    if row(stage, ReviewRecord, review.review_id).state is not ReviewState.OPEN:
        wrong.append("An approval of another digest closed the review.")
    wrong += _kept(stage, review, 1)
    wrong += _nothing_sent(stage, review, stage.start(WORK))
    wrong += ended(stage.start())
    proof = {"review": review.review_id, "asked": review.digest, "given": ELSEWHERE, "answer": told}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


def _stale(stage: Stage, review: ReviewRecord) -> Applied:
    """Sent back for a revision; then the old version is approved: by its own review, and by that of the new version."""
    sent_back = _wish(review, OSCAR, approve=False) | {"ask_revision": True}
    told = said(stage.lives(ANSWER, answers=[sent_back]))["answers"]
    wrong = ended(stage.start(WORK))
    newest = max(
        (r for r in rows(stage, ReviewRecord) if r.operation_id == review.operation_id), key=lambda r: r.number
    )
    wishes = [_wish(review, ANA, approve=True)]
    if newest.state is ReviewState.OPEN and newest.digest != review.digest:
        wishes.append(_wish(newest, ANA, approve=True) | {"digest": review.digest})
    answers = said(stage.lives(ANSWER, answers=wishes))["answers"]
    codes = [each.get("refused") for each in answers]
    if codes != ["review_closed", "digest_mismatch"][: len(codes)]:
        wrong.append(f"Approvals of a version that is no longer asked for were answered {answers}.")
    wrong += _nothing_sent(stage, review, stage.start(WORK))
    wrong += ended(stage.start())
    revised = newest.proposal_version > review.proposal_version
    proof = {"sent_back": told, "stale": review.digest, "newest": newest.digest, "revised": revised, "answers": answers}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


# ---------------------------------------------------------------------- authority


def withdrawn(stage: Stage, planned: Planned) -> Applied:
    """Killed between the approval and the send; then whoever approved loses the right; then it is recovered."""
    killed = stage.dies(f"before:{planned.boundary}")
    operation = sending(stage, planned.operation)
    if operation is None:
        raise NotApplied(f"Before {planned.boundary} no operation was about to be sent.")
    approved = [r for r in _reviews(stage, operation) if r.state is ReviewState.APPROVED]
    if not approved:
        raise NotApplied(f"Before {planned.boundary} nothing was approved.")
    gone = sorted({a.person for a in _answers(stage, approved[-1]) if a.matched == "now" and a.decision == "approve"})
    revoked = said(stage.lives(REVOKE, names=gone))["revoked"]
    wrong = _nothing_sent(stage, approved[-1], stage.start(WORK))
    wrong += ended(stage.start())
    wrong += [
        f"Attempt {attempt.n} began under the approval of {', '.join(gone)}, who had lost the right."
        for attempt in rows(stage, AttemptRecord)
        if attempt.review_id == approved[-1].review_id and attempt.operation_id == operation.operation_id
    ]
    proof = {"killed": killed, "approval": approved[-1].review_id, "revoked": revoked}
    return Applied(at=stage.now(), proof=proof, wrong=tuple(wrong))


# ---------------------------------------------------------------------- inside


def _asked(stage: Stage, planned: Planned) -> ReviewRecord:
    """Killed as soon as the review is open: nobody has answered it."""
    stage.dies(planned.boundary)
    open_ = [review for review in rows(stage, ReviewRecord) if review.state is ReviewState.OPEN]
    if not open_:
        raise NotApplied(f"After {planned.boundary} no review is open.")
    return max(open_, key=lambda review: review.number)


def _wish(review: ReviewRecord, by: str, *, approve: bool) -> dict[str, Any]:
    return {"review_id": review.review_id, "digest": review.digest, "by": by, "approve": approve}


def _open(stage: Stage) -> list[str]:
    return sorted(review.review_id for review in rows(stage, ReviewRecord) if review.state is ReviewState.OPEN)


def _at_once(both: list[Child]) -> list[str]:
    """Nobody answers before all stand ready."""
    for child in both:
        wait_stopped(child, "the answer")
    for child in both:
        child.thaw()
    return [problem for child in both for problem in ended(child)]


def _kept(stage: Stage, review: ReviewRecord, count: int) -> list[str]:
    """Answers are stored before they are matched: each is there, whatever it came to."""
    there = len(_answers(stage, review))
    return [] if there == count else [f"{count} answers were given, and {there} are kept."]


def _nothing_sent(stage: Stage, review: ReviewRecord, worker: Child) -> list[str]:
    """A worker, and nobody who answers: nothing may reach the receiver."""
    before = row(stage, OperationRecord, review.operation_id)
    wrong = ended(worker)
    operation = again(stage, before)
    if operation.attempts > before.attempts:
        wrong.append(f"{operation.operation_id} was sent, and no approval covered it.")
    return wrong


def _reviews(stage: Stage, operation: OperationRecord) -> list[ReviewRecord]:
    mine = [review for review in rows(stage, ReviewRecord) if review.operation_id == operation.operation_id]
    return sorted(mine, key=lambda review: review.number)


def _answers(stage: Stage, review: ReviewRecord) -> list[AnswerRecord]:
    return [answer for answer in rows(stage, AnswerRecord) if answer.review_id == review.review_id]
