"""Signing in by OpenID Connect, against a real provider on loopback: what is let in, and what is not."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt

from counterfoil.app.access import Actor
from counterfoil.app.access.provider import Provider, ProviderSettings
from counterfoil.engine.administration import RevokePerson
from counterfoil.engine.clock import SystemClock
from counterfoil.model.access import IdentityRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from tests.servers.oidc import CLIENT, OTHER, REDIRECT, SECRET, OidcProvider, Swapping, new_key, walked
from tests.unit.opened_ledger import SECOND, SetClock, opened

KEY, NEXT, FOREIGN = (new_key(name) for name in ("first", "second", "nobody's"))


@pytest.fixture(scope="module")
def server() -> Iterator[OidcProvider]:
    with OidcProvider(KEY) as started:
        yield started


class Desk:
    """One installation that signs in at the provider. `wire` is between the two."""

    def __init__(self, here: Any, clock: SetClock, url: str) -> None:
        self.here, self.clock, self.url = here, clock, url
        self.wire = Swapping()
        self.provider = self.of(CLIENT)
        self.kept, self.answer = "", dict[str, str]()

    def of(self, client: str, *, claim: str = "preferred_username", wire: Swapping | None = None) -> Provider:
        settings = ProviderSettings(self.url, client, SECRET, claim)
        return Provider(lambda: self.here, settings, transport=wire or self.wire)

    def sign_in(self, who: str, *, provider: Provider | None = None, **tampered: Any) -> Actor:
        """The whole way. `tampered` changes what was kept, or with `answer_` before the name what the browser brings."""

        async def way() -> Actor:
            at = provider or self.provider
            begun = await at.begin(REDIRECT)
            answer = await asyncio.to_thread(walked, begun.url, who)
            answer |= {k.removeprefix("answer_"): v for k, v in tampered.items() if k.startswith("answer_")}
            kept = json.loads(begun.kept) | {k: v for k, v in tampered.items() if not k.startswith("answer_")}
            self.answer, self.kept = answer, json.dumps(kept)
            return await at.finish(self.kept, answer)

        return asyncio.run(way())

    def refused(self, who: str = "ana", **how: Any) -> str:
        with pytest.raises(Refused) as refused:
            self.sign_in(who, **how)
        assert refused.value.code == "provider_refused"
        return str(refused.value.details["problem"])

    def bound(self) -> list[tuple[str, str]]:
        with self.here.read() as reader:
            return [(row.subject, row.person) for row in reader.rows(IdentityRecord)]

    def entries(self) -> list[EntryKind]:
        with self.here.read() as reader:
            return [entry.kind for entry in reader.entries(self.here.installation_id)]


@pytest.fixture
def desk(tmp_path: Path, server: OidcProvider) -> Iterator[Desk]:
    # The provider has the machine's clock; ours stands where that stood when the test began.
    clock = SetClock(SystemClock().now_us())
    with opened(tmp_path, clock=clock) as here:
        yield Desk(here, clock, server.url)


def test_a_person_signs_in_and_is_bound(desk: Desk) -> None:
    actor = desk.sign_in("subject-1:ana")
    assert (actor.person, actor.how) == ("ana", "provider")
    assert desk.bound() == [("subject-1", "ana")]
    assert EntryKind.IDENTITY in desk.entries()


def test_from_the_second_sign_in_only_the_subject_counts(desk: Desk) -> None:
    desk.sign_in("subject-1:ana")
    assert desk.sign_in("subject-1:oscar").person == "ana"  # renamed there: still the same person
    assert desk.refused("subject-2:ana") == "ana is bound to another account there"  # the name was given out again
    assert desk.bound() == [("subject-1", "ana")]


@pytest.mark.parametrize("who", ["stranger", "subject:ghost"])
def test_an_account_that_is_nobody_here_gets_nothing(desk: Desk, who: str) -> None:
    before = desk.entries()
    assert desk.refused(who) == "the account is nobody here"
    assert (desk.bound(), desk.entries()) == ([], before)


def test_a_revoked_person_is_nobody(desk: Desk) -> None:
    desk.sign_in("subject-1:ana")
    desk.here.writer.ask(RevokePerson(desk.here.installation_id, "ana"))
    assert desk.refused("subject-1:ana") == "the account is nobody here"
    desk.here.writer.ask(RevokePerson(desk.here.installation_id, "oscar"))
    assert desk.refused("subject-3:oscar") == "the account is nobody here"


def test_another_state_is_refused_before_anything_is_asked(desk: Desk) -> None:
    assert "state" in desk.refused(answer_state="forged")
    assert "/token" not in desk.wire.asked
    assert "state" in desk.refused(state="forged")


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[" * 9000,
        "[]",
        "1",
        "null",
        '"state"',
        '{"state": "a"}',
        '{"state": "a", "at": 1e999}',
        '{"state": "a", "at": 1}',
    ],
)
def test_whatever_a_browser_kept_is_refused_and_no_defect(desk: Desk, kept: str) -> None:
    with pytest.raises(Refused) as refused:
        asyncio.run(desk.provider.finish(kept, {"state": "a", "code": "b"}))
    assert refused.value.code == "provider_refused"
    assert desk.wire.asked == []


def test_half_a_character_in_what_was_kept_is_another_state(desk: Desk) -> None:
    assert "state" in desk.refused(state="\ud800")


def test_another_nonce_is_refused(desk: Desk) -> None:
    assert "nonce" in desk.refused(nonce="0" * 64)


def test_another_verifier_gets_no_token(desk: Desk) -> None:
    assert desk.refused(verifier="0" * 64) == "it gave no token: invalid_grant"


def test_a_code_is_good_once(desk: Desk) -> None:
    desk.sign_in("ana")
    with pytest.raises(Refused, match="invalid_grant"):
        asyncio.run(desk.provider.finish(desk.kept, desk.answer))


def test_an_answer_of_another_issuer_and_an_error_are_refused(desk: Desk) -> None:
    assert desk.refused(answer_iss="https://elsewhere.test") == "another issuer answered"
    begun = asyncio.run(desk.provider.begin(REDIRECT))
    state = json.loads(begun.kept)["state"]
    with pytest.raises(Refused, match="access_denied"):
        asyncio.run(desk.provider.finish(begun.kept, {"state": state, "error": "access_denied"}))
    for kept in ("", "[]", "{}"):
        with pytest.raises(Refused, match="nothing was kept"):
            asyncio.run(desk.provider.finish(kept, {"state": state, "code": "c"}))


def test_who_takes_too_long_begins_again(desk: Desk) -> None:
    assert desk.refused(at=desk.clock.now - 601 * SECOND) == "the sign-in took too long"


@pytest.mark.parametrize(("seconds", "held"), [(3600 + 29, True), (3600 + 60, False)])
def test_a_token_is_good_until_it_expires_and_a_little_longer(desk: Desk, seconds: int, held: bool) -> None:
    """The provider's tokens are good for an hour. Our clock moves, between the token and the look at it."""
    desk.clock.now += seconds * SECOND
    if held:
        assert desk.sign_in("ana").person == "ana"
    else:
        assert "expired" in desk.refused()


def test_a_token_from_the_future_is_refused(desk: Desk) -> None:
    desk.clock.now -= 120 * SECOND
    assert "future" in desk.refused()


def test_a_token_for_another_audience_is_refused(desk: Desk) -> None:
    """A real token of the same provider, made for another client in a sign-in of the same person."""
    other = Swapping()
    desk.sign_in("ana", provider=desk.of(OTHER, wire=other))
    nonce = jwt.decode(other.seen["id_token"], KEY).claims["nonce"]
    desk.wire.swapped = {"id_token": other.seen["id_token"], "access_token": None}
    problem = desk.refused(nonce=nonce)
    assert "azp" in problem or "audience" in problem


@pytest.mark.parametrize(
    "header", [{"alg": "RS256", "kid": "nobody's"}, {"alg": "RS256", "kid": "first"}, {"alg": "RS256"}]
)
def test_a_token_signed_by_an_unknown_key_is_refused(desk: Desk, header: dict[str, str]) -> None:
    desk.sign_in("ana")
    claims = dict(jwt.decode(desk.wire.seen["id_token"], KEY).claims)
    desk.wire.swapped = {"id_token": jwt.encode(header, claims, FOREIGN)}
    assert desk.refused(nonce=claims["nonce"]).startswith("its token does not hold")


def test_a_token_without_a_signature_is_refused(desk: Desk) -> None:
    desk.sign_in("ana")
    _, claims, _ = desk.wire.seen["id_token"].split(".")
    nonce = jwt.decode(desk.wire.seen["id_token"], KEY).claims["nonce"]
    desk.wire.swapped = {"id_token": f"eyJhbGciOiJub25lIn0.{claims}."}  # {"alg":"none"}
    assert desk.refused(nonce=nonce).startswith("its token does not hold")
    desk.wire.swapped = {"id_token": "no token at all"}
    assert desk.refused(nonce=nonce).startswith("its token does not hold")


def test_an_access_token_that_is_not_the_tokens_own_is_refused(desk: Desk) -> None:
    claims = {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}
    desk.sign_in("ana")
    real = dict(jwt.decode(desk.wire.seen["id_token"], KEY).claims)
    desk.wire.swapped = {"id_token": jwt.encode({"alg": "RS256", "kid": "first"}, real | claims, KEY)}
    assert "at_hash" in desk.refused(nonce=real["nonce"])


def test_a_claim_that_is_missing_or_not_verified_names_nobody(desk: Desk) -> None:
    assert desk.refused(provider=desk.of(CLIENT, claim="nickname")) == "its token has no claim nickname"
    assert desk.refused(provider=desk.of(CLIENT, claim="email")) == "the mail address is not verified there"


def test_keys_rotate_and_invented_ones_do_not_make_us_ask_for_ever(tmp_path: Path) -> None:
    clock = SetClock(SystemClock().now_us())
    with opened(tmp_path, clock=clock) as here:
        with OidcProvider(KEY) as first:
            desk = Desk(here, clock, first.url)
            desk.sign_in("ana")
            old = desk.wire.seen["id_token"]
            assert desk.wire.asked.count("/jwks") == 1
            desk.sign_in("ana")
            assert desk.wire.asked.count("/jwks") == 1  # kept
        clock.now += 6 * SECOND
        with OidcProvider(NEXT, port=first.port):
            assert desk.sign_in("ana").person == "ana"
            assert desk.wire.asked.count("/jwks") == 2
            clock.now += 6 * SECOND
            desk.wire.swapped = {"id_token": old}
            nonce = jwt.decode(old, KEY).claims["nonce"]
            for _ in range(3):
                assert desk.refused(nonce=nonce).startswith("its token does not hold")
            assert desk.wire.asked.count("/jwks") == 3  # once more for the key that is gone, then not for a while


def test_a_provider_that_is_gone_or_not_safe(desk: Desk) -> None:
    desk.url = "http://127.0.0.1:9"
    with pytest.raises(Refused) as refused:
        desk.sign_in("ana", provider=desk.of(CLIENT))
    assert refused.value.code == "provider_unreachable"
    desk.url = "http://example.test"
    with pytest.raises(Refused, match="neither https nor on this host"):
        desk.of(CLIENT)


def test_another_description_than_the_one_that_is_configured(desk: Desk, server: OidcProvider) -> None:
    desk.url = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(Refused, match="another issuer"):
        desk.sign_in("ana", provider=desk.of(CLIENT))
