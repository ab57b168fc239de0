"""A tool that is a part of its workflow sleeps durably: its worker is killed while it sleeps, and another one wakes it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import played
from tests.crash.turns import DONE, Played, Room

HOURS = 3
SCRIPT: list[Any] = [[["remind", {"order": "o-1", "hours": HOURS}]], DONE]


def slept_once(turn: Played) -> None:
    """The turn has ended; it slept once, each step ran once, and the model was asked what it is asked undisturbed."""
    turn.done()
    kinds = turn.kinds()
    assert (kinds.count("timer"), kinds.count("fired")) == (1, 1)
    assert turn.room.lines("looks") == [{"order": "o-1"}] * 2
    assert turn.heard() == f"then o-1: one chair, {HOURS} hours later o-1: one chair"
    assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}


@row("part")
def test_its_worker_is_killed_while_it_sleeps(room: Room, forks: Children) -> None:
    async def body() -> None:
        async with played(room, forks, tools.sleeper, SCRIPT) as turn:
            child = turn.starts(work="tests.crash.tools:naps")
            await asyncio.to_thread(child.wait_said, "run.waiting")
            await asyncio.to_thread(child.kill)
            assert child.exit_signal == 9
            stored, kinds = turn.bench.stored(turn.run), turn.kinds()
            assert (stored.state, kinds.count("timer"), kinds.count("fired")) == ("waiting", 1, 0)
            turn.bench.advance(timedelta(hours=HOURS))
            assert (await turn.driven()).state == "completed"
            slept_once(turn)
            assert len(room.lines("reminds")) == 2, "from its top, by the second worker"

    asyncio.run(body())


@row("part")
@pytest.mark.parametrize(
    "point",
    ["before:timer.opened", "timer.opened", "before:run.waiting", "before:timer.fired", "timer.fired", "step.ended#2"],
)
def test_killed_around_its_sleep(room: Room, forks: Children, point: str) -> None:
    async def body() -> None:
        async with played(room, forks, tools.sleeper, SCRIPT, point) as turn:
            assert (await turn.driven()).state == "completed"
            assert turn.run.crashes == [9]
            slept_once(turn)

    asyncio.run(body())
