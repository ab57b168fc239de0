"""Why a person may not do an act on a thing: asked before a form is filled, by the same rules as the transaction asks after."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from counterfoil.app.access.actor import Actor
from counterfoil.model.access import Act, GrantRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.authority import acts_alone, approvers, proposers
from counterfoil.rules.permissions import Standing, Wish, allowed, in_scope, standing_of
from counterfoil.rules.wishes import about_operation, about_review, about_run
from counterfoil.store.port import Reader

Forbids = Callable[[str], str | None]
"""The name of an act to the reason why not, None where it may."""


@dataclass(frozen=True, slots=True)
class Standpoint:
    """One person before one run, with the operation and the review in question where there are any."""

    reader: Reader
    actor: Actor
    run: RunRecord
    operation: OperationRecord | None = None
    review: ReviewRecord | None = None

    def why_not(self, act: str) -> str | None:
        """The reason in words, None where the person may."""
        people = list(self.reader.rows(PersonRecord))
        person = next((person for person in people if person.name == self.actor.person), None)
        if person is None or person.revoked_at is not None:
            return f"{self.actor.person} may no longer act here."
        wish = self._wish(Act(act))
        if not in_scope(self.actor.scope, wish):
            return "The token you are signed in with is not good for that."
        standing = standing_of(person, people, list(self.reader.rows(GrantRecord)))
        if not allowed(standing, wish):
            return _missing(standing, wish)
        return self._own(Act(act), person, people)

    def _wish(self, act: Act) -> Wish:
        if act in (Act.ANSWER, Act.WITHDRAW) and self.review is not None and self.operation is not None:
            return about_review(act, self.review, self.operation, self.run)
        if self.operation is not None and act is not Act.CANCEL:
            return about_operation(act, self.operation, self.run)
        return about_run(act, self.run)

    def _own(self, act: Act, person: PersonRecord, people: list[PersonRecord]) -> str | None:
        """Rule 11, and four eyes: not about what one has proposed or approved oneself."""
        installation = self.reader.installation
        alone = installation is not None and bool(installation.single_person)
        if self.operation is None:
            return None
        reviews = self.reader.find(ReviewRecord, "operation_id", self.operation.operation_id)
        if act is Act.RESOLVE:
            acted = approvers(reviews, self.reader.find(AnswerRecord, "run_id", self.run.run_id))
            if acts_alone(person, acted, people, single_person=alone):
                return "You approved what was sent; somebody else resolves it."
        if act is Act.ANSWER and self.review is not None:
            proposed = proposers(self.run, self.review, reviews)
            if acts_alone(person, proposed, people, single_person=alone):
                return "You proposed this; somebody else approves it. You may reject it."
        return None


def _missing(standing: Standing, wish: Wish) -> str:
    """What is missing: a higher amount, a grant of a role that is held, or the role itself."""
    if wish.amount_minor is not None and allowed(standing, replace(wish, amount_minor=0)):
        return "The amount is above what you may decide; ask somebody with a higher limit."
    held = ", ".join(sorted(standing.roles & wish.roles))
    if held:
        return f"You hold {held}, but its grants do not cover this; ask an administrator for one."
    named = ", ".join(sorted(wish.roles))
    return f"You hold no role that may do that here{f'; it is for {named}' if named else ''}."


def nobody(act: str) -> str | None:
    """Asked for no person: whatever the records allow."""
    del act
    return None
