"""A model that plans the same write again, under a new call id, meets the business key; and a write in doubt stops the run."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.crash.rows import row
from tests.crash.turns import DONE, Room, again

REFUND: dict[str, Any] = {"order": "o-1", "amount": 40}
OTHER = REFUND | {"amount": 41}
MAIL = {"to": "ana", "text": "Your money is on its way."}


@dataclass(frozen=True)
class Way:
    """`why` people are asked; `refused` is what the first request meets at the receiver."""

    script: list[Any]
    why: list[str] = field(default_factory=list[str])
    fault: str | None = None
    dies: str | None = None
    told: str = "'reference': 'refund-"


REFUNDS: list[Any] = [["refund", REFUND]]
WAYS = {
    "again, with the same content": Way([REFUNDS, REFUNDS, DONE]),
    "again, with another amount": Way(
        [REFUNDS, [["refund", OTHER]], DONE], ["business_key_conflict"], told="refused by oscar"
    ),
    "after a request to the model failed": Way([REFUNDS, {"fails": 2, "then": REFUNDS}, DONE]),
    "after the reply was lost": Way([REFUNDS, REFUNDS, DONE], fault="drop-reply"),
    "after an error that came when it had acted": Way(
        [REFUNDS, REFUNDS, DONE], ["outcome_unknown"], fault="error-after-accept", told="seen-there"
    ),
    "after the receiver refused it": Way([REFUNDS, REFUNDS, DONE], fault="refuse"),
    "after its worker died before it left": Way([REFUNDS, REFUNDS, DONE], dies="refund before"),
    "after its worker died when it had arrived": Way([REFUNDS, REFUNDS, DONE], dies="refund after"),
    "twice in one answer": Way([REFUNDS * 2, DONE]),
    "twice in one answer, with two amounts": Way(
        [[*REFUNDS, ["refund", OTHER]], DONE], ["business_key_conflict"], told="refused by oscar"
    ),
    "three times, and a read between": Way([REFUNDS, [["look", {"order": "o-1"}]], REFUNDS, REFUNDS * 2, DONE]),
}


@row("business key", "operation")
@pytest.mark.parametrize("way", WAYS)
def test_planned_again_in_eleven_ways(room: Room, way: str) -> None:
    played = WAYS[way]

    async def body() -> None:
        if played.fault is not None:
            room.fault("crm", played.fault)
        async with room.played(played.script) as turn:
            if played.dies is not None:
                await turn.dies(played.dies)
            assert await turn.to_the_end() == played.why
            turn.done()
            assert room.bodies("crm") == [REFUND], "one for each business key, and the first one that was meant"
            assert played.told in turn.heard()
            assert turn.balanced()["lost"] == 0

    asyncio.run(body())


@row("business key")
@pytest.mark.parametrize("revises", [False, True], ids=["rejected", "sent back for a revision"])
def test_planned_again_after_a_review(room: Room, revises: bool) -> None:
    """What was never sent frees its key; a revision is the next version of the same operation. Both are reviewed anew."""
    script = [[["refund_asked", REFUND]], [["refund_asked", OTHER]], DONE]

    async def body() -> None:
        async with room.played(script) as turn:
            await turn.bench.reject(turn.run, by="ana", comment="Too little.", ask_revision=revises)
            assert (await turn.driven(by="oscar")).state == "completed"
            turn.done()
            assert "Too little." in turn.heard(1)
            assert room.bodies("crm") == [OTHER]
            versions = [(operation.status, operation.proposal_version) for operation in turn.operations()]
            assert versions == ([("succeeded", 2)] if revises else [("failed", 1), ("succeeded", 1)])

    asyncio.run(body())


@row("business key")
def test_planned_again_by_another_run(room: Room) -> None:
    """Another message, another run: the same intention is still one."""

    async def body() -> None:
        async with room.played([REFUNDS, DONE]) as turn:
            await turn.dies("refund after")
            await turn.to_the_end()
            other = await again(turn)
            await other.to_the_end()
            assert room.bodies("crm") == [REFUND]
            (operation,) = other.operations()
            assert operation.reused_from == turn.operations()[0].operation_id
            assert other.heard() == turn.heard() != ""

    asyncio.run(body())


# ---------------------------------------------------------------------- a doubt stops the run


@row("doubt")
@pytest.mark.parametrize("as_", ["succeeded", "failed"])
def test_a_write_in_doubt_stops_the_run(room: Room, as_: str) -> None:
    """The receiver takes no key and cannot be asked: nobody but a person can tell. Until then the model is not asked."""

    async def body() -> None:
        room.fault("post", "drop-reply" if as_ == "succeeded" else "error-before-accept")
        async with room.played([[["send_mail", MAIL], ["look", {"order": "o-1"}]], DONE]) as turn:
            for _ in range(2):  # however often a worker looks
                stored = await turn.driven()
                assert (stored.state, stored.reason) == ("parked", "outcome_unknown")
                assert len(room.lines("requests")) == len(room.lines("looks")) == 1
            await turn.resolved(as_)
            await turn.driven()
            turn.done()
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}
            told = "seen-there" if as_ == "succeeded" else "A person has shown that it did not happen"
            assert told in turn.heard()
            assert len(room.records("post")) == (as_ == "succeeded")

    asyncio.run(body())


@row("doubt")
def test_a_doubt_holds_the_other_writes_of_its_answer(room: Room) -> None:
    async def body() -> None:
        room.fault("post", "drop-reply")
        async with room.played([[["send_mail", MAIL], ["refund", REFUND]], DONE]) as turn:
            assert (await turn.driven()).reason == "outcome_unknown"
            assert room.records("crm") == [] and len(room.lines("requests")) == 1
            assert await turn.to_the_end() == ["outcome_unknown"]
            turn.done()
            assert (room.bodies("post"), room.bodies("crm")) == ([MAIL], [REFUND])

    asyncio.run(body())


@row("doubt")
def test_a_doubt_that_outlives_two_workers(room: Room) -> None:
    async def body() -> None:
        async with room.played([[["send_mail", MAIL]], DONE]) as turn:
            await turn.dies("after:operation.replied")
            await turn.dies("before:run.parked")
            assert (await turn.driven()).reason == "outcome_unknown" and len(room.lines("requests")) == 1
            assert await turn.to_the_end() == ["outcome_unknown"]
            turn.done()
            assert room.bodies("post") == [MAIL] and "seen-there" in turn.heard()

    asyncio.run(body())
