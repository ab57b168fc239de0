"""People who may decide, and owners who move a waiting thing forward."""

from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Owner:
    """A person or a role; `within` is the time to act, `then` who is next after that."""

    name: str
    _: KW_ONLY
    within: timedelta
    then: str | None = None


def owner_of(who: Owner | str) -> Owner:
    """A bare name means: within 24 hours."""
    return who if isinstance(who, Owner) else Owner(who, within=timedelta(hours=24))


def owner_facts(owner: Owner) -> dict[str, Any]:
    """An owner as JSON: name, the time to act in microseconds, and who is next."""
    return {"name": owner.name, "within_us": owner.within // timedelta(microseconds=1), "then": owner.then}


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """One row of `people`. `roles` is a JSON list; `secret_hash` is scrypt with its salt, never the secret."""

    name: str
    roles: str
    secret_hash: str
    stand_in_for: str | None
    added_at: int
    revoked_at: int | None
