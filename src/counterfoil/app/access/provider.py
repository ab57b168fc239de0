"""Signing in by OpenID Connect: the code flow with PKCE, state and nonce, over Authlib. Loaded only where it is configured."""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from authlib.oauth2.rfc6749 import parameters as untyped_parameters
from authlib.oauth2.rfc7636 import challenge as untyped_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError

from counterfoil.app.access.actor import Actor
from counterfoil.app.access.discovery import Discovery
from counterfoil.engine.access import BindIdentity
from counterfoil.engine.opened import Opened
from counterfoil.model.access import IdentityRecord
from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord

_parameters: Any = untyped_parameters
_challenge: Any = untyped_challenge

LEEWAY_SECONDS = 30  # between the provider's clock and ours
_KEPT: dict[str, type] = {"state": str, "nonce": str, "verifier": str, "redirect_uri": str, "at": int}
PATIENCE_US = 10 * 60 * 1_000_000  # how long somebody may take at the provider's page
# Signatures that only the provider can make. Never those of a shared secret, and never none.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """`claim` names the person at the first sign-in; from then on the subject does."""

    issuer: str
    client_id: str
    client_secret: str
    claim: str = "preferred_username"


@dataclass(frozen=True, slots=True)
class SignIn:
    """`url` is where the browser goes. `kept` is text for a cookie of that browser alone, to be given back to `finish`."""

    url: str
    kept: str


class Provider:
    """One provider. Keeps its description and its keys, and asks for the keys again when a token names one that is new."""

    def __init__(
        self,
        opened: Callable[[], Opened],
        settings: ProviderSettings,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self._opened = opened
        self._transport = transport
        self._discovery = Discovery(settings.issuer, opened().clock)

    async def begin(self, redirect_uri: str) -> SignIn:
        """Where to send the browser, and what to keep. Raises Refused(provider_unreachable, provider_refused)."""
        chance, now = self._opened().chance, self._opened().clock.now_us()
        state, nonce, verifier = (chance.hex(256) for _ in range(3))
        async with self._client() as client:
            found = await self._discovery.described(client)
        url: str = _parameters.prepare_grant_uri(
            found["authorization_endpoint"], self.settings.client_id, "code", redirect_uri, "openid profile email", state,
            nonce=nonce, code_challenge=_challenge.create_s256_code_challenge(verifier), code_challenge_method="S256",
        )  # fmt: skip
        kept = {"state": state, "nonce": nonce, "verifier": verifier, "redirect_uri": redirect_uri, "at": now}
        return SignIn(url, json.dumps(kept))

    async def finish(self, kept: str, answer: Mapping[str, str]) -> Actor:
        """Who signed in. `answer`: the query that the browser came back with.

        Raises Refused(provider_refused) for an answer that is not the one to what was kept, for a token that does not hold, and
        for an account that is nobody here; Refused(provider_unreachable).
        """
        asked = self._check_answer(kept, answer)
        async with self._client() as client:
            tokens = await self._tokens(client, asked, answer["code"])
            claims = await self._claims(client, tokens, asked["nonce"])
        return Actor(await self._person(claims), "provider")

    def _client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(timeout=10, follow_redirects=False, transport=self._transport)

    def _check_answer(self, kept: str, answer: Mapping[str, str]) -> dict[str, Any]:
        asked = _asked(kept)
        if asked is None:
            raise Refused("provider_refused", problem="nothing was kept of the sign-in's begin")
        if not hmac.compare_digest(_bytes(asked["state"]), _bytes(answer.get("state", ""))):
            raise Refused("provider_refused", problem="the answer is to another sign-in (state)")
        if self._opened().clock.now_us() - asked["at"] > PATIENCE_US:
            raise Refused("provider_refused", problem="the sign-in took too long")
        if answer.get("iss", self.settings.issuer) != self.settings.issuer:
            raise Refused("provider_refused", problem="another issuer answered")
        if "code" not in answer:
            raise Refused("provider_refused", problem=f"the provider said {answer.get('error', 'nothing')}")
        return asked

    async def _tokens(self, client: httpx2.AsyncClient, asked: dict[str, Any], code: str) -> dict[str, Any]:
        found = await self._discovery.described(client)
        body: str = _parameters.prepare_token_request(
            "authorization_code", code=code, redirect_uri=asked["redirect_uri"], code_verifier=asked["verifier"]
        )
        form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        who = (self.settings.client_id, self.settings.client_secret)
        reply = await self._discovery.sent(client.post(found["token_endpoint"], content=body, headers=form, auth=who))
        if not isinstance(reply.get("id_token"), str):
            raise Refused("provider_refused", problem=f"it gave no token: {reply.get('error', 'no reason named')}")
        return reply

    async def _claims(self, client: httpx2.AsyncClient, tokens: dict[str, Any], nonce: str) -> dict[str, Any]:
        wanted = {"iss": {"essential": True, "value": self.settings.issuer}}
        own = {"nonce": nonce, "client_id": self.settings.client_id, "access_token": tokens.get("access_token")}
        try:
            keys = await self._discovery.keys_for(client, tokens["id_token"])
            token = jwt.decode(tokens["id_token"], keys, algorithms=ALGORITHMS)
            claims: Any = CodeIDToken(token.claims, token.header, options=wanted, params=own)
            claims.validate(now=self._opened().clock.now_us() // 1_000_000, leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError) as problem:
            raise Refused("provider_refused", problem=f"its token does not hold ({problem})") from problem
        audience = claims["aud"]
        if self.settings.client_id not in (audience if isinstance(audience, list) else [audience]):
            raise Refused("provider_refused", problem="its token is for another audience")
        return dict(claims)

    async def _person(self, claims: dict[str, Any]) -> str:
        """Bound by issuer and subject; the claim counts only at the first sign-in."""
        subject = str(claims["sub"])
        with self._opened().read() as reader:
            bound = reader.get(IdentityRecord, self.settings.issuer, subject)
            name = bound.person if bound is not None else self._named(claims)
            person = reader.get(PersonRecord, name)
        if person is None or person.revoked_at is not None:
            raise Refused("provider_refused", problem="the account is nobody here")
        if bound is None:
            opened = self._opened()
            bound = await opened.write(BindIdentity(opened.installation_id, self.settings.issuer, subject, name))
        return str(bound.person)

    def _named(self, claims: dict[str, Any]) -> str:
        name = claims.get(self.settings.claim)
        if not isinstance(name, str) or not name:
            raise Refused("provider_refused", problem=f"its token has no claim {self.settings.claim}")
        if self.settings.claim == "email" and claims.get("email_verified") is not True:
            raise Refused("provider_refused", problem="the mail address is not verified there")
        return name


def _asked(kept: str) -> dict[str, Any] | None:
    """What `begin` kept; None for anything else. It comes back from a browser, so it may be whatever somebody wrote."""
    try:
        found: Any = json.loads(kept)
        parts = {name: found[name] for name in _KEPT}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return parts if all(type(parts[name]) is kind for name, kind in _KEPT.items()) else None


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
