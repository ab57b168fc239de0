"""The noun `people`: who may decide, and with which secret."""

from collections.abc import Callable, Sequence
from typing import Any

from counterfoil.app.access.actor import Actor, named
from counterfoil.app.secrets import hashed
from counterfoil.app.views.people import person_view
from counterfoil.engine.administration import AddPerson, RevokePerson
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord


class People:
    """`app.people`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [{name, roles, stand_in_for, revoked_at, added_at}], next_cursor: None}`, by name."""
        with self._opened().read() as reader:
            return {"items": [person_view(person) for person in reader.lists.people()], "next_cursor": None}

    async def add(
        self,
        name: str,
        *,
        roles: Sequence[str] = (),
        secret: str,
        stand_in_for: str | None = None,
        by: Actor | str | None = None,
    ) -> dict[str, Any]:
        """Add a person; the secret is stored only as a hash. Raises Refused(person_exists, usage, unknown_person)."""
        if not name.strip() or name != name.strip():
            raise Refused("usage", problem="a person has a name without spaces around it")
        if not secret:
            raise Refused("usage", problem="the secret is empty")
        opened = self._opened()
        secret_hash = hashed(secret, opened.chance.hex(128))
        added: PersonRecord = await opened.write(
            AddPerson(opened.installation_id, name, tuple(roles), secret_hash, stand_in_for, named(by))
        )
        return person_view(added)

    async def revoke(self, name: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """From now on this person decides nothing, and approvals that were not used yet no longer count."""
        opened = self._opened()
        revoked: PersonRecord = await opened.write(RevokePerson(opened.installation_id, name, named(by)))
        return person_view(revoked)
