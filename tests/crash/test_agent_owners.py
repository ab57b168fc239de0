"""Two workers that both take themselves for the owner of a turn: one is frozen until the other has gone on, and thawed."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.crash.rows import row
from tests.crash.turns import DONE, LEASE_S, Played, Room

PAY: dict[str, Any] = {"order": "o-1", "amount": 5}
REFUND = {"order": "o-1", "amount": 40}
LOOK = {"order": "o-1"}


async def taken_over(turn: Played, at: str) -> Any:
    """The frozen worker, when a second one has come as far as it can."""
    first = await turn.frozen(at)
    turn.bench.advance(timedelta(seconds=LEASE_S + 1))
    await turn.driven()
    assert first.process_state() == "T"
    return first


async def thawed(turn: Played, first: Any) -> list[str]:
    """The kinds of the entries that the first worker's waking adds."""
    known = len(turn.kinds())
    first.thaw()
    await asyncio.to_thread(first.wait)
    assert first.exit_code == 0, first.wrote()[-6000:]
    return turn.kinds()[known:]


@row("two owners")
@pytest.mark.parametrize("at", ["asked", "streamed"])
def test_frozen_while_the_model_is_asked(room: Room, at: str) -> None:
    script, agent = ([[["look", LOOK]], DONE], "desk") if at == "asked" else ([DONE], "talker")

    async def body() -> None:
        async with room.said(script, agent=agent) as turn:
            first = await taken_over(turn, at)
            turn.done()
            decided, counted = turn.decided(), turn.balanced()
            assert counted == {"requests": len(script) + 1, "decisions": len(script), "lost": 1, "failed": 0}
            assert await thawed(turn, first) == [], "the fence refuses its answer"
            turn.done()
            assert turn.decided() == decided == sorted(set(decided))
            assert turn.said() == [DONE]

    asyncio.run(body())


@row("two owners", "safe")
def test_frozen_in_a_safe_tool(room: Room) -> None:
    async def body() -> None:
        async with room.played([[["look", LOOK]], DONE]) as turn:
            first = await taken_over(turn, "look")
            assert await thawed(turn, first) == []
            turn.done()
            assert len(room.lines("looks")) == 2 and turn.kinds().count("step") == 1

    asyncio.run(body())


@row("two owners", "undeclared")
@pytest.mark.parametrize("at", ["pay before", "pay after"])
def test_frozen_in_an_undeclared_tool(room: Room, at: str) -> None:
    """What the first one knows closes the doubt, as late evidence: nobody need be asked any more."""

    async def body() -> None:
        async with room.played([[["pay", PAY]], [["pay", PAY]], [["look", LOOK]], DONE]) as turn:
            first = await taken_over(turn, at)
            stored = turn.bench.stored(turn.run)
            assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
            assert len(room.lines("pays")) == 1 and len(room.records("bank")) == (at == "pay after")
            decided = turn.decided()
            assert {"late", "closed"} <= set(await thawed(turn, first))
            assert await turn.to_the_end() == []
            turn.done()
            assert room.bodies("bank") == [PAY] and len(room.lines("pays")) == 1
            assert turn.decided()[: len(decided)] == decided == sorted(set(decided))
            assert "has happened" in turn.heard(2)

    asyncio.run(body())


@row("two owners", "operation")
@pytest.mark.parametrize("at", ["refund before", "operation.first_byte", "refund after"])
def test_frozen_in_an_operation(room: Room, at: str) -> None:
    """The receiver takes a key, so the second one repeats it once the first one may send no more."""

    async def body() -> None:
        async with room.played([[["refund", REFUND]], DONE]) as turn:
            first = await taken_over(turn, at)
            turn.done()
            assert len(room.records("crm")) == 1
            assert set(await thawed(turn, first)) <= {"late", "ruled"}
            turn.done()
            assert room.bodies("crm") == [REFUND] and turn.decided() == sorted(set(turn.decided()))

    asyncio.run(body())


@row("two owners", "doubt")
@pytest.mark.parametrize("at", ["operation.first_byte", "send_mail after"])
def test_frozen_in_an_operation_that_nobody_can_ask_about(room: Room, at: str) -> None:
    """Frozen before it left, and past its deadline: it does not leave any more, and says so."""

    async def body() -> None:
        async with room.played([[["send_mail", {"to": "ana", "text": "Hello."}]], DONE]) as turn:
            first = await taken_over(turn, at)
            assert turn.bench.stored(turn.run).reason == "outcome_unknown"
            assert len(room.lines("requests")) == 1 and len(room.records("post")) == (at == "send_mail after")
            await thawed(turn, first)
            assert await turn.to_the_end() == []
            turn.done()
            assert len(room.records("post")) == 1
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}

    asyncio.run(body())
