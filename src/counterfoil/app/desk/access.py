"""`desk.access`: grants and tokens as one signed-in person handles them."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from counterfoil.app.access.tokens import token_known
from counterfoil.app.desk.sight import Sight
from counterfoil.model.access import Act, TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.wishes import about_installation

ADMINISTER = about_installation(Act.ADMINISTER)


class DeskGrants:
    """As `app.access.grants`, for administrators."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.access.grants

    def list(self) -> dict[str, Any]:
        """`{items: [ROLE], next_cursor}`. Raises Refused(not_permitted)."""
        self._sight.must(Act.ADMINISTER)
        return self._noun.list()

    async def grant(
        self,
        role: str,
        verb: str,
        *,
        workflow: str | None = None,
        operation: str | None = None,
        kind: str | None = None,
        up_to_minor: int | None = None,
        currency: str | None = None,
    ) -> dict[str, Any]:
        """Give a role one right, in the person's name."""
        self._sight.must(Act.ADMINISTER)
        return await self._noun.grant(
            role, verb, workflow=workflow, operation=operation, kind=kind, up_to_minor=up_to_minor, currency=currency,
            by=self._sight.actor,
        )  # fmt: skip

    async def withdraw(self, grant: str) -> dict[str, Any]:
        """Take a right back, in the person's name."""
        self._sight.must(Act.ADMINISTER)
        return await self._noun.withdraw(grant, by=self._sight.actor)


class DeskTokens:
    """As `app.access.tokens`: one's own, and everybody's for an administrator. A token handles no tokens."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.access.tokens

    def list(self) -> dict[str, Any]:
        """`{items: [TOKEN], next_cursor}`. A token sees itself alone: others name workflows that are outside of its scope."""
        actor = self._sight.actor
        page = self._noun.list(person=None if self._administers() else actor.person)
        if actor.how != "token":
            return page
        return page | {"items": [each for each in page["items"] if each["token_id"] == actor.proof_id]}

    async def create(
        self,
        *,
        name: str,
        expires_in: timedelta,
        person: str | None = None,
        verbs: Collection[str] | None = None,
        workflows: Collection[str] | None = None,
        operations: Collection[str] | None = None,
    ) -> dict[str, Any]:
        """A token of one's own, or (`person`) of another. TOKEN and `token`."""
        actor = self._sight.actor
        whose = person or actor.person
        if whose != actor.person:
            self._sight.must(Act.ADMINISTER)
        with self._sight.look():
            pass  # whoever is no longer signed in makes no token
        return await self._noun.create(
            whose, name=name, expires_in=expires_in, verbs=verbs, workflows=workflows, operations=operations, by=actor
        )

    async def revoke(self, token: str) -> dict[str, Any]:
        """Also by a token itself: whoever found it may end it. Another person's is not_found without the right."""
        whose = None if self._administers() else self._sight.actor.person
        with self._sight.look() as look:
            token_id = token_known(look.reader, token, of=whose)
            row = look.reader.get(TokenRecord, token_id)
            own = self._sight.actor.proof_id == token_id or self._sight.actor.how != "token"
            if row is None or not own:
                raise Refused("not_permitted", name=self._sight.actor.person, act="revoke another token with a token")
        return await self._noun.revoke(token_id, by=self._sight.actor)

    def _administers(self) -> bool:
        with self._sight.look() as look:
            return look.may(ADMINISTER)


class DeskAccess:
    """`desk.access.grants` and `desk.access.tokens`."""

    def __init__(self, sight: Sight) -> None:
        self.grants = DeskGrants(sight)
        self.tokens = DeskTokens(sight)
