"""Another agent as a tool: its turn is a run of its own, and the asking turn waits for it."""

import asyncio
import json
from typing import Any

import pytest

from counterfoil.model.run import RunRecord
from counterfoil.testing.bench import BenchRun
from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import played
from tests.crash.turns import DONE, Played, Room

WIRE, GRANT = {"order": "o-1", "amount": 5}, {"order": "o-2", "amount": 40}


def asking(agent: str, calls: list[Any]) -> list[Any]:
    """The asking agent's script; what it asks is the other one's."""
    return [[[agent, {"text": json.dumps([calls, "It is paid."])}]], DONE]


def child_of(turn: Played) -> Played:
    """The other agent's turn."""
    with turn.bench.app.open().read() as reader:
        (run,) = reader.find(RunRecord, "parent_run_id", turn.run.run_id)
    return Played(turn.room, turn.bench, BenchRun(run.run_id, None))


async def until_both_stand(turn: Played) -> RunRecord:
    """Workers for the one and the other, until neither goes on by itself."""
    stored = await turn.bench.drive(turn.run)
    for _ in range(3):
        await turn.bench.drive(child_of(turn).run)
        stored = await turn.bench.drive(turn.run)
    return stored


@row("child")
@pytest.mark.parametrize("dies", ["wire before", "wire after"])
def test_killed_in_the_other_agents_tool(room: Room, forks: Children, dies: str) -> None:
    async def body() -> None:
        async with played(room, forks, tools.asker, asking("wirer", [["wire", WIRE]])) as turn:
            await turn.dies(dies)  # one worker drives both
            child = child_of(turn)
            stored = await until_both_stand(turn)
            assert (stored.state, stored.result) == ("completed", json.dumps(DONE))
            assert turn.bench.stored(child.run).state == "completed"
            assert len(room.lines("wires")) == 1
            assert room.bodies("bank") == ([WIRE] if dies == "wire after" else [])
            assert "It is paid." in turn.heard()

    asyncio.run(body())


@row("child")
def test_a_doubt_of_the_other_holds_the_one_that_asks(room: Room, forks: Children) -> None:
    """What it does waits for the other's doubt, and for its review; the person who clears it up moves both."""

    async def body() -> None:
        async with played(room, forks, tools.asker, asking("approver", [["grant", GRANT]])) as turn:
            await turn.bench.drive(turn.run)
            child = child_of(turn)
            await turn.bench.drive(child.run)
            await turn.bench.approve(child.run, by="ana")
            await child.dies("grant after")
            stored = await until_both_stand(turn)
            assert (stored.state, stored.reason) == ("waiting", "child") and turn.kinds().count("asked") == 1
            assert turn.bench.stored(child.run).reason == "interrupted_tool"
            await child.resolved("succeeded")
            stored = await until_both_stand(turn)
            assert (stored.state, stored.result) == ("completed", json.dumps(DONE))
            assert room.bodies("bank") == [GRANT] and len(room.lines("grants")) == 1

    asyncio.run(body())


async def asks_a_person(turn: Played) -> Played:
    """Both drive until the other agent's tool waits for an approval. Gives the other's turn."""
    await turn.bench.drive(turn.run)
    child = child_of(turn)
    await turn.bench.drive(child.run)
    assert child.asked() != []
    return child


async def cancelled(turn: Played, dies: str | None = None) -> None:
    """A process cancels the asking turn; the first one may be killed over it, and somebody asks again."""
    if dies is not None:
        first = turn.starts(crash_at=dies, work="tests.crash.tools:cancels")
        await asyncio.to_thread(first.wait)
        assert first.exit_signal == 9, first.wrote()[-6000:]
    if not turn.bench.stored(turn.run).cancel_asked:
        await turn.bench.app.runs.cancel(turn.run.run_id, reason="It is not wanted any more.")


@row("child", "abort")
@pytest.mark.parametrize("dies", ["before:run.cancelled", "after:run.cancelled", "before:marker.flushed"])
def test_killed_while_it_cancels_both(room: Room, forks: Children, dies: str) -> None:
    """One commit cancels both: what the other had asked for is never run, whoever answers."""

    async def body() -> None:
        async with played(room, forks, tools.asker, asking("approver", [["grant", GRANT]])) as turn:
            child = await asks_a_person(turn)
            await cancelled(turn, dies)
            assert turn.bench.stored(child.run).cancel_asked
            await until_both_stand(turn)
            assert [turn.bench.stored(run).state for run in (turn.run, child.run)] == ["cancelled", "cancelled"]
            assert room.lines("grants") == room.bodies("bank") == [] and child.asked() == []
            assert turn.kinds().count("asked") == child.kinds().count("asked") == 1

    asyncio.run(body())


@row("child", "abort")
@pytest.mark.parametrize("of", ["parent", "child"])
@pytest.mark.parametrize("dies", ["after:run.claimed", "before:run.finished", "after:run.finished"])
def test_the_one_that_ends_a_cancelled_run_is_killed(room: Room, forks: Children, of: str, dies: str) -> None:
    async def body() -> None:
        async with played(room, forks, tools.asker, asking("approver", [["grant", GRANT]])) as turn:
            child = await asks_a_person(turn)
            await cancelled(turn)
            # The asking run ends last, and whoever ends the other one may go on with it at once.
            second = "#2" if of == "parent" and dies.endswith("finished") else ""
            worker = (turn if of == "parent" else child).starts(crash_at=dies + second)
            await asyncio.to_thread(worker.wait)
            assert worker.exit_signal == 9, worker.wrote()[-6000:]
            await until_both_stand(turn)
            assert [turn.bench.stored(run).state for run in (turn.run, child.run)] == ["cancelled", "cancelled"]
            assert room.lines("grants") == room.bodies("bank") == []

    asyncio.run(body())


@row("child", "abort")
@pytest.mark.parametrize("when", ["before the cancel", "after the cancel"])
def test_a_cancelled_turn_stays_for_the_others_doubt(room: Room, forks: Children, when: str) -> None:
    """Neither is called done before somebody has said what the interrupted tool did."""

    async def body() -> None:
        async with played(room, forks, tools.asker, asking("approver", [["grant", GRANT]])) as turn:
            child = await asks_a_person(turn)
            await turn.bench.approve(child.run, by="ana")
            await child.dies("grant after")
            if when == "before the cancel":
                await until_both_stand(turn)
            await cancelled(turn)
            stored = await until_both_stand(turn)
            assert (stored.state, stored.reason, stored.heading) == ("parked", "interrupted_tool", "cancelled")
            other = turn.bench.stored(child.run)
            assert (other.state, other.reason, other.heading) == ("parked", "interrupted_tool", "cancelled")
            await child.resolved("succeeded")
            await until_both_stand(turn)
            assert [turn.bench.stored(run).state for run in (turn.run, child.run)] == ["cancelled", "cancelled"]
            assert room.bodies("bank") == [GRANT] and len(room.lines("grants")) == 1

    asyncio.run(body())
