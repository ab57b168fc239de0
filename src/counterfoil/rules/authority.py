"""Who may decide: roles as they are now, and whether somebody else than the one who acted decides."""

import json
from collections.abc import Iterable

from counterfoil.model.people import PersonRecord


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
    counted = acted | {other.stand_in_for for other in people if other.name in acted and other.stand_in_for}
    return not single_person and (person.name in counted or person.stand_in_for in counted)
