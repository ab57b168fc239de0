"""Who may decide: roles as they are now, how many approved, and whether somebody else than the one who acted decides."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.signing import Keys, expires_at_of, holds


def roles_of(person: PersonRecord) -> frozenset[str]:
    """A person's own name counts as a role only that person holds."""
    return frozenset(json.loads(person.roles)) | {person.name}


def may_decide(person: PersonRecord, role: str, people: Iterable[PersonRecord]) -> bool:
    """A person who is not revoked and holds the role, or stands in for somebody who holds it.

    A stand-in is for absence, not for a revocation: whoever is revoked gives nobody a right any more.
    """
    if person.revoked_at is not None:
        return False
    stood_in = (other for other in people if other.name == person.stand_in_for and other.revoked_at is None)
    return role in roles_of(person) or any(role in roles_of(other) for other in stood_in)


def acts_alone(
    person: PersonRecord, acted: frozenset[str], people: Iterable[PersonRecord], *, single_person: bool
) -> bool:
    """Rule 11: who proposed or approved does not resolve alone, unless the installation is declared single_person.

    A stand-in acts for the person stood in for: the two count as one.
    """
    known = list(people)
    return not single_person and bool(heads([person.name], known) & heads(acted, known))


def is_about(review: ReviewRecord, digest: str) -> bool:
    """An approval authorises one digest: what is answered, and what is sent, is what the review showed."""
    return review.digest == digest


def approvals_of(review: ReviewRecord, answers: Iterable[AnswerRecord]) -> list[AnswerRecord]:
    """The answers that count as an approval of this review, in the order in which they were given."""
    return [
        answer
        for answer in answers
        if answer.review_id == review.review_id
        and (answer.matched, answer.decision) == ("now", "approve")
        and is_about(review, answer.digest)
    ]


def heads(names: Iterable[str], people: Iterable[PersonRecord]) -> frozenset[str]:
    """Different people by name: a stand-in counts as the person stood in for, also where that one stands in for another."""
    stand_ins = {person.name: person.stand_in_for for person in people if person.stand_in_for}
    return frozenset(_head(name, stand_ins) for name in names)


def _head(name: str, stand_ins: Mapping[str, str]) -> str:
    met = {name}
    while name in stand_ins and stand_ins[name] not in met:
        name = stand_ins[name]
        met.add(name)
    return name


def proposers(run: RunRecord, review: ReviewRecord, reviews: Iterable[ReviewRecord]) -> frozenset[str]:
    """Who submitted the run, and who asked for the version that is under review by an answer to an earlier one."""
    asked = {
        earlier.reviewer
        for earlier in reviews
        if earlier.state is ReviewState.REJECTED
        and earlier.ask_revision
        and earlier.proposal_version < review.proposal_version
    }
    return frozenset(name for name in asked | {run.submitted_by} if name)


def approvers(reviews: Sequence[ReviewRecord], answers: Sequence[AnswerRecord]) -> frozenset[str]:
    """Everybody who approved what an attempt drew on."""
    used = [review for review in reviews if review.used_by]
    gave = {answer.person for review in used for answer in approvals_of(review, answers)}
    return frozenset(gave | {review.reviewer for review in used if review.reviewer})


@dataclass(frozen=True, slots=True)
class Weighed:
    """How an approval stands now. `signed`: as this installation demands it. `covered`: enough who may still decide."""

    signed: bool
    covered: bool


def weighed(
    review: ReviewRecord,
    answers: Sequence[AnswerRecord],
    people: Sequence[PersonRecord],
    *,
    needed: int,
    keys: Keys,
    installation_id: str,
    may: Callable[[PersonRecord], bool],
) -> Weighed:
    """An approved review, weighed again. `needed`: how many different people; `may`: whether one still may approve it."""
    given = approvals_of(review, answers)
    if keys.required:
        given = [answer for answer in given if holds(keys, installation_id, review, answer)]
        in_time = bool(given) and review.expires_at <= max(expires_at_of(answer) for answer in given)
        signed = in_time and len(heads((answer.person for answer in given), people)) >= needed
    else:
        signed = True
    names = {answer.person for answer in given}
    if not names and not keys.required and review.reviewer:
        names = {review.reviewer}
    still = [person.name for person in people if person.name in names and may(person)]
    return Weighed(signed, len(heads(still, people)) >= needed)
