"""Who it is that asks: secrets, personal tokens, sessions, and when each of them is over."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.access import Access, Actor
from counterfoil.app.access.grants import Grants
from counterfoil.app.access.proof import still_proven
from counterfoil.app.access.tokens import Tokens
from counterfoil.app.verification import verify
from counterfoil.engine.access import BindIdentity
from counterfoil.engine.administration import RevokePerson
from counterfoil.engine.opened import Opened
from counterfoil.model.access import GrantRecord, Scope, SessionRecord, TokenRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from tests.unit.opened_ledger import HOUR, SECOND, SECRETS, SetClock, opened

DAY = timedelta(days=1)


class Desk:
    """An installation with ana, oscar and eve, and who signs in there."""

    def __init__(self, here: Opened, clock: SetClock) -> None:
        self.here, self.clock = here, clock
        self.access = Access(lambda: here, lambda: ["approver", "ops"])
        self.tokens: Tokens = self.access.tokens
        self.grants: Grants = self.access.grants

    def begin(self, **lifetime: timedelta) -> str:
        return asyncio.run(self.access.begin(self.access.by_secret("ana", SECRETS["ana"]), **lifetime))

    def token(self, **parts: Any) -> Actor:
        return self.access.by_token(asyncio.run(self.tokens.create("ana", name="t", **parts))["token"])

    def session(self, value: str) -> Actor:
        return asyncio.run(self.access.by_session(value))

    def sessions(self) -> list[SessionRecord]:
        with self.here.read() as reader:
            return list(reader.rows(SessionRecord))

    def entries(self) -> list[tuple[EntryKind, str | None]]:
        with self.here.read() as reader:
            return [(entry.kind, entry.name) for entry in reader.entries(self.here.installation_id, after=0)]

    def revoke(self, name: str) -> None:
        self.here.writer.ask(RevokePerson(self.here.installation_id, name))

    def proven(self, actor: Actor) -> str:
        with self.here.read() as reader:
            return still_proven(reader, actor, self.clock.now).name


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Desk(here, clock)


def code_of(body: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as refused:
        body()
    return refused.value.code


def told(body: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as refused:
        body()
    return str(refused.value)


# ---------------------------------------------------------------------- secrets


def test_a_person_shows_who_it_is_by_the_secret(desk: Desk) -> None:
    actor = desk.access.by_secret("ana", SECRETS["ana"])
    assert (actor.person, actor.how, actor.scope, actor.proof_id) == ("ana", "secret", Scope(), None)


def test_what_was_wrong_is_not_told(desk: Desk) -> None:
    desk.revoke("eve")
    answers = {
        told(lambda name=name, secret=secret: desk.access.by_secret(name, secret))
        for name, secret in (("ana", "wrong"), ("nobody", "wrong"), ("", ""), ("eve", SECRETS["eve"]))
    }
    assert len(answers) == 1
    assert "sign_in_refused" in answers.pop()


def test_the_development_mode_takes_a_person_who_is_there(desk: Desk) -> None:
    assert desk.access.in_development("eve").how == "development"
    desk.revoke("eve")
    assert code_of(lambda: desk.access.in_development("eve")) == "person_revoked"
    assert code_of(lambda: desk.access.in_development("ghost")) == "unknown_person"


# ---------------------------------------------------------------------- sessions


def test_a_session_is_its_value_and_the_database_holds_only_a_digest(desk: Desk) -> None:
    value = desk.begin()
    assert len(value) == 64
    assert value != desk.begin()
    first = desk.sessions()[0]
    assert hashlib.sha256(value.encode()).hexdigest() in {each.session_id for each in desk.sessions()}
    assert (first.person, first.how, first.expires_at - first.begun_at) == ("ana", "secret", 12 * HOUR)
    actor = desk.session(value)
    assert (actor.person, actor.how) == ("ana", "session")
    assert desk.entries() == [(EntryKind.SIGNED_IN, "ana")] * 2
    assert verify(lambda: desk.here)["broken"] == []


def test_a_session_ends_by_its_lifetime_however_busy_it_is(desk: Desk) -> None:
    value = desk.begin(lifetime=timedelta(hours=2))
    for _ in range(3):
        desk.clock.now += HOUR // 2
        desk.session(value)
    desk.clock.now += HOUR // 2 - 1
    assert desk.session(value).person == "ana"
    desk.clock.now += 1
    assert code_of(lambda: desk.session(value)) == "session_over"


def test_a_session_ends_without_requests(desk: Desk) -> None:
    value = desk.begin()
    desk.clock.now += HOUR - 1
    assert desk.session(value).person == "ana"
    desk.clock.now += HOUR
    assert code_of(lambda: desk.session(value)) == "session_over"


def test_a_request_is_written_down_once_a_minute(desk: Desk) -> None:
    value = desk.begin()
    began = desk.sessions()[0].seen_at
    desk.clock.now += 59 * SECOND
    desk.session(value)
    assert desk.sessions()[0].seen_at == began
    desk.clock.now += SECOND
    desk.session(value)
    assert desk.sessions()[0].seen_at == began + 60 * SECOND


def test_a_session_ends_with_signing_out_and_for_good(desk: Desk) -> None:
    value = desk.begin()
    desk.clock.now += SECOND
    asyncio.run(desk.access.end(value))
    ended = desk.sessions()[0].ended_at
    desk.clock.now += SECOND
    asyncio.run(desk.access.end(value))
    asyncio.run(desk.access.end("no session"))
    assert [each.ended_at for each in desk.sessions()] == [ended]
    assert code_of(lambda: desk.session(value)) == "session_over"
    assert code_of(lambda: desk.session("invented")) == "session_over"


def test_a_session_ends_with_its_person(desk: Desk) -> None:
    value = desk.begin()
    actor = desk.session(value)
    desk.revoke("ana")
    assert code_of(lambda: desk.session(value)) == "session_over"
    assert code_of(lambda: desk.proven(actor)) == "session_over"


def test_who_was_revoked_begins_no_session(desk: Desk) -> None:
    actor = desk.access.by_secret("ana", SECRETS["ana"])
    desk.revoke("ana")
    assert code_of(lambda: asyncio.run(desk.access.begin(actor))) == "person_revoked"
    assert desk.sessions() == []


# ---------------------------------------------------------------------- tokens


def test_a_token_is_shown_once_and_stored_as_a_digest(desk: Desk) -> None:
    made = asyncio.run(
        desk.tokens.create("ana", name="nightly", expires_in=DAY, verbs=["submit", "read"], workflows=["refund"])
    )
    text = made.pop("token")
    assert text.startswith("cft_")
    assert len(text) == 68
    assert made["scope"] == {"verbs": ["read", "submit"], "workflows": ["refund"], "operations": None}
    assert desk.tokens.list()["items"] == [made]
    assert text not in (desk.here.location.read_bytes() + wal(desk)).decode("latin-1")
    actor = desk.access.by_token(text)
    assert (actor.person, actor.how, actor.proof_id) == ("ana", "token", made["token_id"])
    assert actor.scope == Scope(frozenset({"read", "submit"}), frozenset({"refund"}), None)
    assert desk.entries() == [(EntryKind.TOKEN, "ana")]


def wal(desk: Desk) -> bytes:
    log = desk.here.location.with_name(desk.here.location.name + "-wal")
    return log.read_bytes() if log.exists() else b""


def test_a_token_is_over_when_it_expires_is_revoked_or_its_person_is(desk: Desk) -> None:
    first, second, third = (
        asyncio.run(desk.tokens.create(name, name="t", expires_in=DAY)) for name in ("ana", "ana", "eve")
    )
    actor = desk.access.by_token(second["token"])
    asyncio.run(desk.tokens.revoke(second["token_id"]))
    desk.revoke("eve")
    assert code_of(lambda: desk.access.by_token(second["token"])) == "token_invalid"
    assert code_of(lambda: desk.proven(actor)) == "token_invalid"
    assert code_of(lambda: desk.access.by_token(third["token"])) == "token_invalid"
    alive = desk.access.by_token(first["token"])
    desk.clock.now += 24 * HOUR - 1
    assert desk.access.by_token(first["token"]) == alive
    desk.clock.now += 1
    assert code_of(lambda: desk.access.by_token(first["token"])) == "token_invalid"
    assert code_of(lambda: desk.proven(alive)) == "token_invalid"
    for invented in ("", "cft_", first["token"][:-1], first["token_id"]):
        assert code_of(lambda invented=invented: desk.access.by_token(invented)) == "token_invalid"


def test_a_revoked_token_stays_revoked(desk: Desk) -> None:
    made = asyncio.run(desk.tokens.create("ana", name="t", expires_in=DAY))
    once = asyncio.run(desk.tokens.revoke(made["token_id"][:10]))
    desk.clock.now += SECOND
    assert asyncio.run(desk.tokens.revoke(made["token_id"])) == once
    assert len(desk.entries()) == 2
    assert code_of(lambda: asyncio.run(desk.tokens.revoke("tok_nothing"))) == "not_found"
    assert code_of(lambda: asyncio.run(desk.tokens.revoke(""))) == "not_found"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"name": " "}, "usage"),
        ({"name": "x" * 101}, "usage"),
        ({"expires_in": timedelta(0)}, "usage"),
        ({"expires_in": timedelta(days=367)}, "usage"),
        ({"verbs": ["fly"]}, "usage"),
        ({"person": "ghost"}, "unknown_person"),
        ({"by": "eve"}, "not_permitted"),
    ],
)
def test_a_token_that_is_not_made(desk: Desk, changed: dict[str, Any], code: str) -> None:
    asked: dict[str, Any] = {"person": "ana", "name": "t", "expires_in": DAY} | changed
    assert code_of(lambda: asyncio.run(desk.tokens.create(asked.pop("person"), **asked))) == code
    with desk.here.read() as reader:
        assert list(reader.rows(TokenRecord)) == []


def test_one_makes_ones_own_token_and_a_token_makes_none(desk: Desk) -> None:
    eve = desk.access.by_secret("eve", SECRETS["eve"])
    made = asyncio.run(desk.tokens.create("eve", name="t", expires_in=DAY, by=eve))
    by_token = desk.access.by_token(made["token"])
    assert code_of(lambda: asyncio.run(desk.tokens.create("eve", name="u", expires_in=DAY, by=by_token))) == (
        "not_permitted"
    )
    assert desk.tokens.list(person="ana")["items"] == []
    assert [each["name"] for each in desk.tokens.list(person="eve")["items"]] == ["t"]


# ---------------------------------------------------------------------- grants


def grant(desk: Desk, *parts: str, **columns: Any) -> dict[str, Any]:
    return asyncio.run(desk.grants.grant(*parts, **columns))


def test_a_grant_is_one_however_often_it_is_given(desk: Desk) -> None:
    first = grant(desk, "clerk", "resolve", workflow="refund", up_to_minor=500, currency="EUR")
    assert first["up_to"] == {"minor": 500, "currency": "EUR"}
    assert (first["granted_by"], first["withdrawn_at"]) == (None, None)
    desk.clock.now += SECOND
    assert grant(desk, "clerk", "resolve", workflow="refund", up_to_minor=500, currency="EUR") == first
    other = grant(desk, "clerk", "resolve", operation="refund", up_to_minor=500, currency="EUR")
    assert other["grant_id"] != first["grant_id"]
    assert len(desk.entries()) == 2


def test_a_grant_that_was_withdrawn_may_be_given_again(desk: Desk) -> None:
    first = grant(desk, "clerk", "read")
    desk.clock.now += SECOND
    gone = asyncio.run(desk.grants.withdraw(first["grant_id"][:9]))
    assert gone["withdrawn_at"] is not None
    assert asyncio.run(desk.grants.withdraw(first["grant_id"])) == gone
    assert [role for role in desk.grants.list()["items"] if role["role"] == "clerk"] == [
        {"role": "clerk", "built_in": False, "named": False, "people": [], "grants": [], "narrowed": True}
    ]
    again = grant(desk, "clerk", "read")
    assert (again["grant_id"], again["withdrawn_at"]) == (first["grant_id"], None)
    assert [kind for kind, _ in desk.entries()] == [EntryKind.GRANT] * 3
    assert verify(lambda: desk.here)["differences"] == []


@pytest.mark.parametrize(
    ("parts", "columns"),
    [
        (("clerk", "fly"), {}),
        (("", "read"), {}),
        ((" clerk", "read"), {}),
        (("clerk", "resolve"), {"kind": "receipts"}),
        (("clerk", "read"), {"kind": "secrets"}),
        (("clerk", "administer"), {"workflow": "refund"}),
        (("clerk", "suspend_writes"), {"operation": "pay"}),
        (("clerk", "resolve"), {"up_to_minor": 5}),
        (("clerk", "resolve"), {"currency": "EUR"}),
        (("clerk", "resolve"), {"up_to_minor": -1, "currency": "EUR"}),
        (("clerk", "cancel"), {"up_to_minor": 5, "currency": "EUR"}),
    ],
)
def test_a_grant_that_means_nothing_is_refused(desk: Desk, parts: tuple[str, str], columns: dict[str, Any]) -> None:
    assert code_of(lambda: grant(desk, *parts, **columns)) == "usage"
    with desk.here.read() as reader:
        assert list(reader.rows(GrantRecord)) == []


def test_only_an_administrator_grants(desk: Desk) -> None:
    assert code_of(lambda: grant(desk, "clerk", "read", by="ana")) == "not_permitted"
    made = grant(desk, "ana", "administer")
    assert grant(desk, "clerk", "read", by="ana")["granted_by"] == "ana"
    assert code_of(lambda: asyncio.run(desk.grants.withdraw(made["grant_id"], by="oscar"))) == "not_permitted"
    assert code_of(lambda: asyncio.run(desk.grants.withdraw("gra_"))) == "ambiguous_id"
    assert code_of(lambda: asyncio.run(desk.grants.withdraw("gra_x"))) == "not_found"


def test_the_roles_are_those_named_held_or_granted(desk: Desk) -> None:
    grant(desk, "clerk", "read")
    found = {each["role"]: each for each in desk.grants.list()["items"]}
    assert list(found) == ["admin", "approver", "auditor", "clerk", "operator", "ops"]
    assert (found["ops"]["named"], found["ops"]["people"], found["ops"]["narrowed"]) == (True, ["ana", "oscar"], False)
    assert found["admin"]["built_in"]
    assert [each["verb"] for each in found["clerk"]["grants"]] == ["read"]


# ---------------------------------------------------------------------- identities


def test_two_first_sign_ins_at_once_bind_one_person(desk: Desk) -> None:
    here = desk.here.installation_id
    first = desk.here.writer.ask(BindIdentity(here, "https://idp.test", "s-1", "ana"))
    assert desk.here.writer.ask(BindIdentity(here, "https://idp.test", "s-1", "oscar")) == first
    assert code_of(lambda: desk.here.writer.ask(BindIdentity(here, "https://idp.test", "s-2", "ana"))) == (
        "provider_refused"
    )
    assert desk.here.writer.ask(BindIdentity(here, "https://other.test", "s-2", "ana")).person == "ana"
    assert code_of(lambda: desk.here.writer.ask(BindIdentity(here, "https://idp.test", "s-3", "ghost"))) == (
        "unknown_person"
    )


def test_no_provider_is_one_and_half_of_one_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.access.provider() is None
    monkeypatch.setenv("COUNTERFOIL_OIDC_ISSUER", "https://idp.test")
    assert code_of(desk.access.provider) == "setting_missing"
    monkeypatch.setenv("COUNTERFOIL_OIDC_CLIENT_ID", "console")
    assert code_of(desk.access.provider) == "setting_missing"
    monkeypatch.setenv("COUNTERFOIL_OIDC_CLIENT_SECRET", "s3cret")
    made = desk.access.provider()
    assert made is not None
    assert (made.settings.claim, made) == ("preferred_username", desk.access.provider())
