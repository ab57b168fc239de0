"""What a provider says of itself, and its keys: kept for an hour, and asked for again when a token names a key that is new."""

from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

import httpx2
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from counterfoil.engine.clock import Clock
from counterfoil.model.errors import Refused

KEPT_US = 3600 * 1_000_000
PAUSE_US = 5 * 1_000_000  # between two questions for keys: tokens with invented key ids must not make us ask for ever
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Discovery:
    """Over one issuer. Raises Refused(provider_unreachable), and Refused(provider_refused) for what cannot be trusted."""

    def __init__(self, issuer: str, clock: Clock) -> None:
        self._issuer = _safe(issuer)
        self._clock = clock
        self._description: tuple[int, dict[str, Any]] | None = None
        self._keys: tuple[int, KeySet] | None = None

    async def described(self, client: httpx2.AsyncClient) -> dict[str, Any]:
        """The provider's description."""
        now = self._clock.now_us()
        if self._description is None or now - self._description[0] > KEPT_US:
            found = await self.sent(client.get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"))
            if found.get("issuer") != self._issuer:
                raise Refused("provider_refused", problem="it describes another issuer than the one that is configured")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                _safe(str(found.get(name)))
            self._description = (now, found)
        return self._description[1]

    async def keys_for(self, client: httpx2.AsyncClient, token: str) -> KeySet:
        """Keys among which the token's should be: asked for again, but not too often, where it is not."""
        key_id = jws.extract_compact(token.encode()).headers().get("kid")
        now = self._clock.now_us()
        if self._keys is not None:
            asked_at, keys = self._keys
            known = any(key.kid == key_id for key in keys.keys)
            if now - asked_at <= KEPT_US and (known or now - asked_at < PAUSE_US):
                return keys
        found = await self.sent(client.get((await self.described(client))["jwks_uri"]))
        try:
            keys = KeySet.import_key_set(found)  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError, TypeError) as problem:
            raise Refused("provider_refused", problem="its keys cannot be read") from problem
        self._keys = (now, keys)
        return keys

    async def sent(self, request: Awaitable[httpx2.Response]) -> dict[str, Any]:
        """The JSON object of an answer, also of a refusal."""
        try:
            response = await request
            found = response.json()
        except (httpx2.HTTPError, ValueError) as problem:
            raise Refused("provider_unreachable", issuer=self._issuer, problem=type(problem).__name__) from problem
        if not isinstance(found, dict) or response.status_code >= 500:
            raise Refused("provider_unreachable", issuer=self._issuer, problem=f"status {response.status_code}")
        return found  # pyright: ignore[reportUnknownVariableType] - JSON


def _safe(url: str) -> str:
    """Encrypted, or on this host. Raises Refused(provider_refused)."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise Refused("provider_refused", problem=f"{url} is neither https nor on this host")
    return url
