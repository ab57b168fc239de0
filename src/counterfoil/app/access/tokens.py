"""The noun `access.tokens`: personal tokens, shown once, stored as a digest."""

import hashlib
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from counterfoil.app.access.actor import Actor, named
from counterfoil.app.access.grants import known_act, one_of
from counterfoil.app.views.access import token_view
from counterfoil.engine.access import AddToken, RevokeToken
from counterfoil.engine.opened import Opened
from counterfoil.model import ids
from counterfoil.model.access import Scope, TokenRecord
from counterfoil.model.codec import compact, parsed
from counterfoil.model.errors import Refused
from counterfoil.store.port import Reader

PREFIX = "cft_"  # so that a scanner of leaked secrets knows one
LONGEST = timedelta(days=366)
LONGEST_NAME = 100
_PARTS = ("verbs", "workflows", "operations")


class Tokens:
    """`app.access.tokens`. A token is named by its id or the start of it, never by itself."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self, *, person: str | None = None) -> dict[str, Any]:
        """`{items: [TOKEN], next_cursor: None}`, the oldest first, the revoked too.

        TOKEN: {token_id, person, name, scope: {verbs, workflows, operations}, created_at, expires_at, revoked_at}; null in
        the scope is any.
        """
        with self._opened().read() as reader:
            found = [token_view(token) for token in reader.rows(TokenRecord) if person in (None, token.person)]
        return {"items": found, "next_cursor": None}

    async def create(
        self,
        person: str,
        *,
        name: str,
        expires_in: timedelta,
        verbs: Collection[str] | None = None,
        workflows: Collection[str] | None = None,
        operations: Collection[str] | None = None,
        by: Actor | str | None = None,
    ) -> dict[str, Any]:
        """TOKEN and `token`, which is shown now and never again. It may what its person may, inside its scope.

        Raises Refused: usage, unknown_person, person_revoked, not_permitted (another person's token takes an administrator).
        """
        if not name.strip() or len(name) > LONGEST_NAME:
            raise Refused("usage", problem=f"a token's name has 1 to {LONGEST_NAME} characters")
        if not timedelta(0) < expires_in <= LONGEST:
            raise Refused("usage", problem=f"a token is good for at most {LONGEST.days} days, and not for none")
        for verb in verbs or ():
            known_act(verb)
        _check_creator(by)
        opened = self._opened()
        text = PREFIX + opened.chance.hex(256)
        expires_at = opened.clock.now_us() + expires_in // timedelta(microseconds=1)
        token_id = ids.derived("tok", opened.chance.hex(128))
        scope = compact(
            {part: _part(given) for part, given in zip(_PARTS, (verbs, workflows, operations), strict=True)}
        )
        asked = TokenRecord(token_id, person, name, digest_of_token(text), scope, 0, expires_at, None)
        added: TokenRecord = await opened.write(AddToken(opened.installation_id, asked, named(by)))
        return token_view(added) | {"token": text}

    async def revoke(self, token: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """From now on it is good for nothing. Gives TOKEN. Raises Refused(not_found, not_permitted)."""
        opened = self._opened()
        with opened.read() as reader:
            token_id = token_known(reader, token, of=None)
        revoked: TokenRecord = await opened.write(RevokeToken(opened.installation_id, token_id, named(by)))
        return token_view(revoked)


def token_known(reader: Reader, text: str, *, of: str | None) -> str:
    """The id of a token, among those of one person or of all. Raises Refused(not_found, ambiguous_id)."""
    known = [row.token_id for row in reader.rows(TokenRecord) if of in (None, row.person)]
    return one_of(known, "token", text)


def digest_of_token(token: str) -> str:
    """What is stored: 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def scope_of(text: str) -> Scope:
    """The stored JSON as a Scope."""
    given = parsed(text)
    return Scope(*(None if given[name] is None else frozenset(given[name]) for name in _PARTS))


def _part(given: Collection[str] | None) -> list[str] | None:
    return None if given is None else sorted(set(given))


def _check_creator(by: Actor | str | None) -> None:
    """A token makes no token: a leaked one would outlive its own end, and its scope."""
    if isinstance(by, Actor) and by.how == "token":
        raise Refused("not_permitted", name=by.person, act="create a token with a token")
