"""A durable agent is killed at every boundary that its turn passes; what the receivers hold and the journal say decides."""

import asyncio
from typing import Any

import pytest

from tests.crash.rows import row
from tests.crash.turns import Played, Room

REFUND, ASKED, PAY = {"order": "o-1", "amount": 40}, {"order": "o-2", "amount": 7}, {"order": "o-1", "amount": 5}
ELSEWHERE = {"worker.seen", "lease.renewed", "installation.changed"}
# What the first worker passes until the review, and the second one from the approval on.
FIRST = {
    "run.claimed": 1, "record.appended": 1, "decision.asked": 2, "decision.accepted": 2, "operation.prepared": 3,
    "step.ended": 1, "operation.in_flight": 2, "marker.flushed": 2, "operation.first_byte": 2, "operation.replied": 2,
    "operation.classified": 2, "proposal.made": 2, "review.opened": 1, "run.waiting": 1,
}  # fmt: skip
SECOND = {
    "run.claimed": 1, "operation.in_flight": 1, "marker.flushed": 1, "operation.first_byte": 1, "operation.replied": 1,
    "operation.classified": 1, "decision.asked": 1, "decision.accepted": 1, "record.appended": 1, "run.finished": 1,
}  # fmt: skip
INTERRUPTING = {
    f"{point}#1" for point in ("after:operation.in_flight", "before:marker.flushed", "after:marker.flushed",
    "before:operation.first_byte", "after:operation.first_byte", "before:operation.replied", "after:operation.replied",
    "before:operation.classified")
}  # fmt: skip
BESIDE = {"before:step.ended#1", "after:step.ended#1"}  # the read ends while `pay` may be on its way, or not
SCRIPT: list[Any] = [
    [["look", {"order": "o-1"}], ["pay", PAY]],
    [["refund", REFUND], ["refund_asked", ASKED]],
    "All is done.",
]


def all_happened_once(turn: Played) -> None:
    """Each intended effect is there once, and nothing else."""
    turn.done()
    assert sorted(turn.room.bodies("crm"), key=str) == sorted([REFUND, ASKED], key=str)
    assert turn.room.bodies("bank") == [PAY]
    assert turn.balanced()["decisions"] == 3


@row("ending")
def test_a_turn_that_nobody_disturbs(room: Room) -> None:
    async def body() -> None:
        async with room.played(SCRIPT) as turn:
            await turn.driven()
            all_happened_once(turn)
            assert turn.balanced() == {"requests": 3, "decisions": 3, "lost": 0, "failed": 0}

    asyncio.run(body())


@row("ending")
def test_the_points_are_those_that_it_passes(room: Room) -> None:
    async def body() -> None:
        async with room.played(SCRIPT) as turn:
            for expected in (FIRST, SECOND):
                child = turn.starts(work="tests.crash.desk:hits")
                await asyncio.to_thread(child.wait)
                met = {name: times for name, times in child.said[0].items() if name not in ELSEWHERE}
                # Whether the review opens before the refund beside it is in flight, or is asked for again after it.
                assert met.pop("review.opened", 0) >= expected.get("review.opened", 0)
                met.pop("operation.advanced", None)
                assert met == {name: times for name, times in expected.items() if name != "review.opened"}
                if turn.asked():
                    await turn.bench.approve(turn.run, by="ana")

    asyncio.run(body())


def points(passed: dict[str, int]) -> list[str]:
    """Each boundary, as often as it is passed, before and after."""
    return [
        f"{when}:{name}#{n + 1}" for name, times in passed.items() for n in range(times) for when in ("before", "after")
    ]


@row("deciding", "batch", "undeclared", "review")
@pytest.mark.parametrize("point", points(FIRST))
def test_killed_on_the_way_to_the_review(room: Room, point: str) -> None:
    async def body() -> None:
        async with room.played(SCRIPT, point) as turn:
            stored = await turn.driven()
            assert turn.run.crashes == [9]
            if point not in INTERRUPTING | ({point} & BESIDE if stored.state == "parked" else set()):
                all_happened_once(turn)
                return
            # Nobody knows whether `pay` acted. The model heard so at once, and planned two writes: both are held.
            assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
            assert room.records("crm") == []
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}
            assert "outcome is unknown" in turn.heard()
            happened = len(room.records("bank")) == 1
            if point in INTERRUPTING:
                assert happened is (point.partition(":")[2] in ("operation.replied#1", "operation.classified#1"))
            assert await turn.to_the_end() == ["interrupted_tool"]
            assert turn.heard().count("planned before this was known") == 2
            assert ("has happened; its reference is seen-there" in turn.heard()) is happened
            assert room.records("crm") == [] and len(room.records("bank")) == happened
            assert turn.balanced()["decisions"] == 3

    asyncio.run(body())


@row("review", "operation", "ending")
@pytest.mark.parametrize("point", points(SECOND))
def test_killed_from_the_approval_on(room: Room, point: str) -> None:
    async def body() -> None:
        async with room.played(SCRIPT) as turn:
            await turn.bench.approve(turn.run, by="ana")
            turn.run.crash_at = point
            assert (await turn.driven()).state == "completed"
            assert turn.run.crashes == [9]
            all_happened_once(turn)

    asyncio.run(body())
