"""The noun `access`: who it is that asks."""

from collections.abc import Callable

from counterfoil.app.access.actor import Actor
from counterfoil.app.access.tokens import digest_of_token, scope_of
from counterfoil.app.secrets import fits
from counterfoil.engine.opened import Opened
from counterfoil.model.access import TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord

_NOBODY = "scrypt$00000000000000000000000000000000$"  # compared with for an unknown name: it takes as long


class Access:
    """`app.access`. Nothing else makes an Actor."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

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
        if record.revoked_at is not None or record.expires_at <= opened.clock.now_us():
            raise Refused("token_invalid")
        return Actor(person.name, "token", scope_of(record.scope), record.token_id)
