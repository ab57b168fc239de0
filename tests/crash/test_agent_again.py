"""A model that calls an undeclared tool again, under a new call id, after the call was interrupted: the receiver holds one.

Each way is played twice: the worker dies before the tool's own request, and after its answer came. A person looks at the
receiver, and says what is there.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from tests.crash.rows import row
from tests.crash.turns import DONE, Played, Room

PAY: dict[str, Any] = {"order": "o-1", "amount": 5}
REFUND = {"order": "o-2", "amount": 40}
Call = list[Any]
FIRST: list[Call] = [["pay", PAY]]


@dataclass(frozen=True)
class Way:
    """`held` is what the model plans while nobody knows, `heard` what it plans when it knows that it has happened."""

    held: list[Call]
    heard: list[list[Call]]

    @classmethod
    def same(cls, calls: list[Call]) -> "Way":
        return cls(calls, [calls])

    def script(self, *, happened: bool) -> list[Any]:
        # Where it did not happen, the second call is the first one that acts.
        return [FIRST, self.held, *(self.heard if happened else [FIRST]), DONE]


WAYS = {
    "the same arguments": Way.same([["pay", PAY]]),
    "in another order": Way.same([["pay", {"amount": 5, "order": "o-1"}]]),
    "with the amount as another type": Way.same([["pay", PAY | {"amount": 5.0}]]),
    "with one more argument": Way.same([["pay", PAY | {"note": "again"}]]),
    "twice in one answer": Way.same([["pay", PAY], ["pay", PAY]]),
    "beside a read": Way.same([["look", {"order": "o-1"}], ["pay", PAY]]),
    "only after it was told": Way([["refund", REFUND]], [[["pay", PAY]]]),
    "beside an operation": Way.same([["refund", REFUND], ["pay", PAY]]),
    "stubbornly": Way(FIRST, [FIRST, FIRST, FIRST]),
    "after a read in between": Way(FIRST, [[["look", {"order": "o-1"}]], FIRST]),
}


@row("undeclared", "again")
@pytest.mark.parametrize("dies", ["pay before", "pay after"])
@pytest.mark.parametrize("way", WAYS)
def test_paid_again_in_ten_ways(room: Room, way: str, dies: str) -> None:
    happened = dies == "pay after"
    script = WAYS[way].script(happened=happened)

    async def body() -> None:
        async with room.played(script) as turn:
            await turn.dies(dies)
            assert len(room.records("bank")) == happened
            assert (await turn.driven()).reason == "interrupted_tool"
            # One call of the tool so far, and the model was told before it planned anything else.
            assert len(room.lines("pays")) == 1
            assert "was interrupted, and its outcome is unknown" in turn.heard(1)
            why = await turn.to_the_end()
            pays = sum(tool == "pay" for calls in WAYS[way].heard for tool, _ in calls)
            assert why[0] == "interrupted_tool" and set(why[1:]) <= {"possible_repeat"}
            assert ("possible_repeat" in why) is happened and len(why) <= 1 + pays
            check(turn, way, happened=happened)

    asyncio.run(body())


def check(turn: Played, way: str, *, happened: bool) -> None:
    turn.done()
    assert turn.room.bodies("bank") == [PAY], "one, and the one that was meant"
    assert len(turn.room.lines("pays")) == (1 if happened else 2)
    refunds = sum(tool == "refund" for calls in WAYS[way].heard if happened for tool, _ in calls)
    assert turn.room.bodies("crm") == [REFUND] * refunds, "a write that was planned without knowing is never run"


@row("held")
@pytest.mark.parametrize("point", ["timer.opened", "operation.prepared"])
def test_killed_again_while_it_is_held(room: Room, point: str) -> None:
    """At `timer.opened` the second call begins to wait; at `operation.prepared` it is about to be held as a repeat."""

    async def body() -> None:
        async with room.played([FIRST, FIRST, FIRST, DONE]) as turn:
            await turn.dies("pay after")
            if point == "timer.opened":
                await turn.dies(point)
                assert (await turn.driven()).reason == "interrupted_tool"
            else:
                await turn.driven()
                await turn.resolved("succeeded")
                await turn.dies(point)
            why = [reason for reason in await turn.to_the_end() if reason != "interrupted_tool"]
            assert why == ["possible_repeat"]
            turn.done()
            assert turn.room.bodies("bank") == [PAY] and len(room.lines("pays")) == 1

    asyncio.run(body())


@row("held")
@pytest.mark.parametrize("point", ["before:step.ended", "after:decision.asked"])
def test_killed_between_the_resolution_and_the_word_of_it(room: Room, point: str) -> None:
    """At `step.ended` the held call hears what happened; at `decision.asked` the model is about to."""

    async def body() -> None:
        async with room.played([FIRST, FIRST, DONE]) as turn:
            await turn.dies("pay after")
            await turn.driven()
            await turn.resolved("succeeded")
            await turn.dies(point)
            assert await turn.to_the_end() == []
            turn.done()
            assert "has happened; its reference is seen-there" in turn.heard()
            assert turn.balanced()["lost"] == (point == "after:decision.asked")
            assert len(room.records("bank")) == len(room.lines("pays")) == 1

    asyncio.run(body())


@row("again")
def test_a_person_may_say_that_both_are_meant(room: Room) -> None:
    other = {"order": "o-9", "amount": 8}

    async def body() -> None:
        async with room.played([FIRST, FIRST, [["pay", other]], DONE]) as turn:
            await turn.dies("pay after")
            await turn.driven()
            await turn.resolved("succeeded")
            assert (await turn.driven()).reason == "possible_repeat"
            assert room.bodies("bank") == [PAY], (
                "other arguments are held, too: a model that lost its place plans anything"
            )
            await turn.resolved("send-again")
            await turn.driven()
            turn.done()
            assert room.bodies("bank") == [PAY, other]

    asyncio.run(body())


@row("undeclared")
def test_a_model_that_calls_it_done_does_not_end_the_run(room: Room) -> None:
    async def body() -> None:
        async with room.played([FIRST, DONE]) as turn:
            await turn.dies("pay after")
            assert (await turn.driven()).reason == "interrupted_tool"
            assert await turn.to_the_end() == ["interrupted_tool"]
            turn.done()
            assert room.bodies("bank") == [PAY]

    asyncio.run(body())
