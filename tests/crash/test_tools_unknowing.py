"""What a model planned without knowing what an interrupted tool did is not run, whenever that is known."""

import asyncio
from typing import Any

import pytest

from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import entries, played
from tests.crash.turns import DONE, Played, Room

PAID, WANTED = {"order": "o-1", "amount": 5}, {"order": "o-2", "amount": 40}
BESIDE = WANTED | {"beside": True}
LATER: list[Any] = [["back", BESIDE], ["back", WANTED], ["refund", WANTED], ["hand", WANTED]]


def not_written(turn: Played, room: Room) -> None:
    """Nothing of the plan was written, and the model has heard why, and what the interrupted call did."""
    assert room.bodies("crm") == [] and room.bodies("bank") == [PAID]
    assert [operation.name for operation in turn.operations()] == ["keeper_tool"], "nothing was prepared"
    assert "planned before this was known" in turn.heard() or "planned before it was known" in turn.heard()
    turn.done()


@row("held")
@pytest.mark.parametrize("call", LATER)
@pytest.mark.parametrize("killed", [None, "after:timer.opened"])
def test_planned_while_it_was_unknown(room: Room, forks: Children, call: Any, killed: str | None) -> None:
    async def body() -> None:
        script = [[["hand", PAID]], [call], DONE]
        async with played(room, forks, tools.keeper, script) as turn:
            await turn.dies("hand after")
            if killed is not None:
                await turn.dies(killed)  # it had just been held
            assert (await turn.bench.drive(turn.run)).reason == "interrupted_tool"
            await turn.resolved("succeeded")
            await turn.bench.drive(turn.run)
            not_written(turn, room)
            assert len(entries(turn, "timer")) == 1

    asyncio.run(body())


@row("held")
@pytest.mark.parametrize("call", LATER)
def test_known_between_the_plan_and_its_call(room: Room, forks: Children, call: Any) -> None:
    """The answer that plans it is saved; before it is acted on, somebody says what the interrupted call did."""

    async def body() -> None:
        script = [[["hand", PAID]], [call], DONE]
        async with played(room, forks, tools.keeper, script) as turn:
            await turn.dies("hand after")
            await turn.dies("after:decision.accepted")
            await turn.resolved("succeeded")
            await turn.bench.drive(turn.run)
            not_written(turn, room)

    asyncio.run(body())


@row("held")
def test_planned_anew_it_is_run_once(room: Room, forks: Children) -> None:
    """The plan that follows the resolution knows: it is run, and a killed worker's replay gives the same."""

    async def body() -> None:
        script = [[["hand", PAID]], [["back", WANTED]], [["back", WANTED]], DONE]
        async with played(room, forks, tools.keeper, script) as turn:
            await turn.dies("hand after")
            await turn.bench.drive(turn.run)
            await turn.resolved("succeeded")
            await turn.dies("after:operation.prepared")
            await turn.bench.drive(turn.run)
            turn.done()
            assert room.bodies("crm") == [WANTED] and len(room.lines("counted")) == 2

    asyncio.run(body())
