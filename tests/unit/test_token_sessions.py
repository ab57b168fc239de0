"""Sessions that a personal token began: no more than the token, no longer than the token."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from counterfoil.model.access import Scope
from counterfoil.model.journal import EntryKind
from tests.unit.opened_ledger import HOUR, SECOND, SetClock, opened
from tests.unit.test_access import DAY, Desk, code_of


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Desk(here, clock)


def test_a_session_begins_no_other(desk: Desk) -> None:
    of_a_token = asyncio.run(desk.access.begin(desk.token(expires_in=DAY)))
    for actor in (desk.session(desk.begin()), desk.session(of_a_token)):
        assert code_of(lambda actor=actor: asyncio.run(desk.access.begin(actor))) == "not_permitted"
    assert len(desk.sessions()) == 2


def test_a_session_of_a_token_may_what_the_token_may(desk: Desk) -> None:
    token = desk.token(expires_in=DAY, verbs=["read"], workflows=["refund"])
    actor = desk.session(asyncio.run(desk.access.begin(token)))
    assert (actor.person, actor.how, actor.scope, actor.proof_id) == ("ana", "token", token.scope, token.proof_id)
    assert actor.scope == Scope(frozenset({"read"}), frozenset({"refund"}), None)
    create = desk.tokens.create("ana", name="another", expires_in=DAY, by=actor)
    assert code_of(lambda: asyncio.run(create)) == "not_permitted"
    assert desk.entries()[-1] == (EntryKind.SIGNED_IN, "ana")


def test_a_session_of_a_token_ends_when_the_token_expires(desk: Desk) -> None:
    value = asyncio.run(desk.access.begin(desk.token(expires_in=timedelta(minutes=30))))
    (session,) = desk.sessions()
    assert session.expires_at == desk.clock.now + HOUR // 2, "not after twelve hours"
    actor = desk.session(value)
    desk.clock.now += HOUR // 2 - SECOND
    assert desk.proven(actor) == "ana"
    desk.clock.now += SECOND
    assert code_of(lambda: desk.session(value)) == "session_over"
    assert code_of(lambda: desk.proven(actor)) == "token_invalid"


def test_a_session_of_a_token_ends_with_the_token_and_with_signing_out(desk: Desk) -> None:
    token = desk.token(expires_in=DAY)
    value, other = asyncio.run(desk.access.begin(token)), asyncio.run(desk.access.begin(token))
    actor = desk.session(other)
    asyncio.run(desk.access.end(other))
    assert code_of(lambda: desk.proven(actor)) == "session_over", "a page that stays open ends, too"
    assert desk.session(value).person == "ana"
    asyncio.run(desk.tokens.revoke(token.proof_id or ""))
    assert code_of(lambda: desk.session(value)) == "session_over"
    assert code_of(lambda: asyncio.run(desk.access.begin(token))) == "token_invalid"
