"""A person, without the secret."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.people import PersonRecord


def person_view(person: PersonRecord) -> dict[str, Any]:
    """`{name, roles, stand_in_for, revoked_at, added_at}`."""
    return {
        "name": person.name,
        "roles": parsed(person.roles),
        "stand_in_for": person.stand_in_for,
        "revoked_at": rfc3339(person.revoked_at),
        "added_at": rfc3339(person.added_at),
    }
