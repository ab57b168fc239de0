"""Who may decide: roles as they are now, and whether somebody else than the one who acted decides."""

import json

from counterfoil.model.people import PersonRecord


def roles_of(person: PersonRecord) -> frozenset[str]:
    """A person's own name counts as a role only that person holds."""
    return frozenset(json.loads(person.roles)) | {person.name}


def may_decide(person: PersonRecord, role: str) -> bool:
    """A person who is not revoked and holds the role, or stands in for somebody who is named as the role."""
    if person.revoked_at is not None:
        return False
    return role in roles_of(person) or person.stand_in_for == role


def acts_alone(person: str, acted: frozenset[str], *, single_person: bool) -> bool:
    """Rule 11: who proposed or approved does not resolve alone, unless the installation is declared single_person."""
    return person in acted and not single_person
