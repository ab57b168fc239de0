"""Approvals of Pydantic AI are our reviews, bound to the digest and the version of a call's arguments."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import played
from tests.crash.turns import DONE, Played, Room

SMALL, MUCH = {"order": "o-1", "amount": 5}, {"order": "o-2", "amount": 40}
SCRIPT: list[Any] = [[["grant", SMALL]], DONE]


async def asks(turn: Played) -> dict[str, Any]:
    """The one review that is open now."""
    await turn.bench.drive(turn.run)
    (review,) = turn.asked()
    return review


@row("review")
def test_approved_it_runs_once(room: Room, forks: Children) -> None:
    async def body() -> None:
        async with played(room, forks, tools.approver, SCRIPT) as turn:
            review = await asks(turn)
            (operation,) = turn.operations()
            assert review["digest"] == operation.payload_digest and review["role"] == "manager"
            assert json.loads(operation.payload) == {"tool": "grant", "arguments": SMALL}
            assert room.lines("grants") == []
            await turn.bench.approve(turn.run, by="ana")
            assert await turn.to_the_end() == []
            turn.done()
            assert room.bodies("bank") == [SMALL] and "granted" in turn.heard()

    asyncio.run(body())


@row("review", "undeclared")
@pytest.mark.parametrize("dies", ["grant before", "grant after"])
def test_interrupted_behind_its_approval_it_is_not_run_again(room: Room, forks: Children, dies: str) -> None:
    async def body() -> None:
        async with played(room, forks, tools.approver, SCRIPT) as turn:
            await asks(turn)
            await turn.bench.approve(turn.run, by="ana")
            await turn.dies(dies)
            assert await turn.to_the_end() == ["interrupted_tool"]
            turn.done()
            assert len(room.lines("grants")) == 1
            assert room.bodies("bank") == ([SMALL] if dies == "grant after" else [])

    asyncio.run(body())


@row("review")
@pytest.mark.parametrize("revise", [False, True])
def test_rejected_the_model_hears_it_and_other_arguments_ask_anew(room: Room, forks: Children, revise: bool) -> None:
    async def body() -> None:
        async with played(room, forks, tools.approver, [[["grant", SMALL]], [["grant", MUCH]], DONE]) as turn:
            first = await asks(turn)
            await turn.bench.reject(turn.run, by="ana", comment="Not this one.", ask_revision=revise)
            second = await asks(turn)
            assert "Not this one." in turn.heard() and room.lines("grants") == []
            assert second["digest"] != first["digest"]
            await turn.bench.approve(turn.run, by="ana")
            assert await turn.to_the_end() == []
            turn.done()
            assert room.bodies("bank") == [MUCH]
            assert [o.status.value for o in turn.operations()] == ["failed", "succeeded"]

    asyncio.run(body())


@row("review")
def test_a_tool_that_asks_itself(room: Room, forks: Children) -> None:
    """It runs to where it asks, and again when a person let it pass; what is little needs nobody."""

    async def body() -> None:
        script = [[["grant_much", SMALL]], [["grant_much", MUCH]], [["outside", {"order": "o-3"}]], DONE]
        async with played(room, forks, tools.approver, script) as turn:
            review = await asks(turn)
            assert room.bodies("bank") == [SMALL]
            asking, allowed = turn.operations()[1:]
            assert (asking.status.value, allowed.payload) == ("failed", asking.payload)
            assert review["digest"] == allowed.payload_digest
            await turn.bench.approve(turn.run, by="ana")
            assert await turn.to_the_end() == []
            turn.done()
            assert room.bodies("bank") == [SMALL, MUCH]
            assert [each["approved"] for each in room.lines("asks")] == [False, False, True]
            assert "CallDeferred" in turn.heard() and len(room.lines("outside")) == 1

    asyncio.run(body())


@row("review")
def test_arguments_that_were_edited_in_the_history_are_never_run_under_the_old_approval(
    room: Room, forks: Children
) -> None:
    """Somebody changes the model's stored answer behind an approval. The run stands, nothing is paid, and verify finds it."""

    async def body() -> None:
        async with played(room, forks, tools.approver, SCRIPT) as turn:
            await asks(turn)
            await turn.bench.approve(turn.run, by="ana")
            database = Path(turn.bench.app.db or "")
            turn.bench.app.close()
            edit(database)
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "code_changed")
            assert room.bodies("bank") == [] and room.lines("grants") == []
            found = turn.bench.app.verify()
            assert not found["sound"] and found["broken"][0]["run_id"] == turn.run.run_id

    asyncio.run(body())


def edit(database: Path) -> None:
    """Another amount in the arguments of the stored answer."""
    connection = sqlite3.connect(database)
    changed = connection.execute(
        "UPDATE entries SET body = replace(body, '\"amount\":5', '\"amount\":500') WHERE kind = 'decision'"
    )
    assert changed.rowcount == 1
    connection.commit()
    connection.close()
