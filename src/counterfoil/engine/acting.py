"""Who acts on the installation, and what an act wakes."""

from collections.abc import Sequence

from counterfoil.engine.waking import wake
from counterfoil.model.access import GrantRecord
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.authority import acts_alone, approvers
from counterfoil.rules.permissions import Wish, allowed, standing_of
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def acting(tx: Transaction, name: str) -> PersonRecord:
    """The named person, who is not revoked. `reads` must name it. Raises Refused(unknown_person, person_revoked)."""
    person = tx.get(PersonRecord, name)
    if person is None:
        raise Refused("unknown_person", name=name)
    if person.revoked_at is not None:
        raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
    return person


def acting_reads(name: str | None) -> tuple[Read, ...]:
    """What `permitted` looks at; nothing where nobody is named."""
    return () if name is None else (Read.all(PersonRecord), Read.all(GrantRecord))


def permitted(tx: Transaction, name: str, wish: Wish) -> PersonRecord:
    """The named person, who may do this now. `reads` must hold `acting_reads(name)`.

    Raises Refused(unknown_person, person_revoked), Refused(role_missing) where the thing names roles and the person holds
    none of them, and Refused(not_permitted).
    """
    people = tx.all(PersonRecord)
    person = next((each for each in people if each.name == name), None)
    if person is None:
        raise Refused("unknown_person", name=name)
    if person.revoked_at is not None:
        raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
    standing = standing_of(person, people, tx.all(GrantRecord))
    if not allowed(standing, wish):
        if wish.roles and not standing.roles & wish.roles:
            raise Refused("role_missing", name=name, role=" or ".join(sorted(wish.roles)))
        raise Refused("not_permitted", name=name, act=wish.act.value)
    return person


def check_not_approver(tx: Transaction, person: PersonRecord, operation_id: str, run_id: str) -> None:
    """Rule 11: whoever approved what was sent does not close it alone. `reads` names its reviews, answers and the people.

    Raises Refused(own_action).
    """
    acted = approvers(tx.find(ReviewRecord, "operation_id", operation_id), tx.find(AnswerRecord, "run_id", run_id))
    if acts_alone(person, acted, tx.all(PersonRecord), single_person=bool(tx.installation.single_person)):
        raise Refused("own_action", name=person.name)


def wake_parked(tx: Transaction, runs: Sequence[str], reason: str) -> None:
    """Wake those of `runs` that are still parked for this reason; others have moved on meanwhile."""
    for run_id in runs:
        if tx.must(RunRecord, run_id).reason == reason:
            wake(tx, run_id)
