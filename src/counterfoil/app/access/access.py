"""The noun `access`: who it is that asks."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from counterfoil import settings
from counterfoil.app.access.actor import Actor
from counterfoil.app.access.grants import Grants
from counterfoil.app.access.proof import token_over
from counterfoil.app.access.sessions import LIFETIME, TOUCH_US, session_ended, session_id
from counterfoil.app.access.tokens import Tokens, digest_of_token, scope_of
from counterfoil.app.secrets import fits
from counterfoil.engine.access import BeginSession, TouchSession
from counterfoil.engine.opened import Opened
from counterfoil.model.access import SessionRecord, TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.model.moments import rfc3339
from counterfoil.model.people import PersonRecord

_NOBODY = "scrypt$00000000000000000000000000000000$"  # compared with for an unknown name: it takes as long


if TYPE_CHECKING:
    from counterfoil.app.access.provider import Provider


class Access:
    """`app.access`. Nothing else makes an Actor."""

    def __init__(self, opened: Callable[[], Opened], roles: Callable[[], Sequence[str]]) -> None:
        self._opened = opened
        self.grants = Grants(opened, roles)
        self.tokens = Tokens(opened)
        self._provider: Provider | None = None

    def by_secret(self, name: str, secret: str) -> Actor:
        """Blocks for the time of one scrypt. Raises Refused(sign_in_refused): which of the two was wrong is not told."""
        with self._opened().read() as reader:
            person = reader.get(PersonRecord, name)
        right = fits(secret, _NOBODY if person is None else person.secret_hash)
        if person is None or not right or person.revoked_at is not None:
            raise Refused("sign_in_refused")
        return Actor(person.name, "secret")

    def by_token(self, token: str) -> Actor:
        """The person of a personal token. Raises Refused(token_invalid)."""
        opened = self._opened()
        with opened.read() as reader:
            found = reader.find(TokenRecord, "token_hash", digest_of_token(token))
            person = reader.get(PersonRecord, found[0].person) if found else None
        if person is None or person.revoked_at is not None:
            raise Refused("token_invalid")
        record = found[0]
        if token_over(record, opened.clock.now_us()):
            raise Refused("token_invalid")
        return Actor(person.name, "token", scope_of(record.scope), record.token_id)

    def in_development(self, name: str) -> Actor:
        """A person without a secret: for a server on loopback that says so loudly. Raises Refused(unknown_person, person_revoked)."""
        with self._opened().read() as reader:
            person = reader.get(PersonRecord, name)
        if person is None:
            raise Refused("unknown_person", name=name)
        if person.revoked_at is not None:
            raise Refused("person_revoked", name=name, at=rfc3339(person.revoked_at))
        return Actor(person.name, "development")

    def provider(self) -> "Provider | None":
        """The OpenID Connect provider of the settings, None where none is set: `await begin(...)`, `await finish(...)`.

        Raises Refused(setting_missing) where only a part is set, Refused(tool_missing) without the extra `console`.
        """
        if self._provider is None:
            issuer = settings.value_of("COUNTERFOIL_OIDC_ISSUER")
            if not issuer:
                return None
            self._provider = _provider(self._opened, issuer)
        return self._provider

    async def begin(self, actor: Actor, lifetime: timedelta = LIFETIME) -> str:
        """Begin a browser's session and write down that the person signed in. Gives the cookie's value: 64 hex digits.

        One that a token begins may no more than the token, and ends with it. Raises Refused: person_revoked, token_invalid,
        and not_permitted where a session would begin another.
        """
        if actor.how not in ("secret", "provider", "token") or actor.session_id is not None:
            raise Refused("not_permitted", name=actor.person, act="sign in with a session")
        opened = self._opened()
        value = opened.chance.hex(256)
        lifetime_us = lifetime // timedelta(microseconds=1)
        token_id = actor.proof_id if actor.how == "token" else None
        verb = BeginSession(opened.installation_id, session_id(value), actor.person, actor.how, lifetime_us, token_id)
        await opened.write(verb)
        return value

    async def by_session(self, value: str) -> Actor:
        """The person of a session. It ends after its lifetime, after an hour without a request, with its person and its token.

        Raises Refused(session_over).
        """
        opened = self._opened()
        now = opened.clock.now_us()
        with opened.read() as reader:
            session = reader.get(SessionRecord, session_id(value))
            person = None if session is None else reader.get(PersonRecord, session.person)
            token_id = None if session is None else session.token_id
            token = None if token_id is None else reader.get(TokenRecord, token_id)
        if session is None or person is None or person.revoked_at is not None or session_ended(session, now):
            raise Refused("session_over")
        if token_id is not None and (token is None or token_over(token, now)):
            raise Refused("session_over")
        if now - session.seen_at >= TOUCH_US:
            await opened.write(TouchSession(session.session_id, ended=False))
        if token is not None:
            return Actor(person.name, "token", scope_of(token.scope), token.token_id, session.session_id)
        return Actor(person.name, "session", proof_id=session.session_id)

    async def end(self, value: str) -> None:
        """Sign out. A session that is over already stays so."""
        await self._opened().write(TouchSession(session_id(value), ended=True))


def _provider(opened: Callable[[], Opened], issuer: str) -> "Provider":
    try:
        from counterfoil.app.access.provider import Provider, ProviderSettings
    except ImportError as problem:
        raise Refused(
            "tool_missing", tool="Authlib", install="Install it with `pip install 'counterfoil[console]'`."
        ) from problem
    client, secret = _needed("COUNTERFOIL_OIDC_CLIENT_ID"), _needed("COUNTERFOIL_OIDC_CLIENT_SECRET")
    return Provider(opened, ProviderSettings(issuer, client, secret, settings.value_of("COUNTERFOIL_OIDC_CLAIM")))


def _needed(name: str) -> str:
    value = settings.value_of(name)
    if not value:
        raise Refused("setting_missing", name=name)
    return value
