"""An agent is killed where no boundary of ours is: inside the model's request, inside its tools, and by its people's side."""

import asyncio
import json
from typing import Any

import pytest

from counterfoil.app.turns import turn_in_full
from counterfoil.model.conversation import TurnKind, TurnRecord
from counterfoil.testing.bench import BenchRun
from counterfoil.testing.model_server.process import ModelServerProcess
from tests.crash.rows import row
from tests.crash.turns import DONE, Played, Room, said

PAY: dict[str, Any] = {"order": "o-1", "amount": 5}
OTHER = {"order": "o-2", "amount": 6}
REFUND = {"order": "o-1", "amount": 40}
LOOK = {"order": "o-1"}

# ---------------------------------------------------------------------- admission


@row("admission")
@pytest.mark.parametrize("point", ["before:run.submitted", "after:run.submitted"])
def test_killed_while_a_message_is_admitted(room: Room, point: str) -> None:
    text = json.dumps([DONE])

    async def body() -> None:
        async with room.bench() as bench:
            child = bench.start_worker("", crash_at=point, work="tests.crash.desk:sends", environ={"DESK_SAYS": text})
            await asyncio.to_thread(child.wait)
            assert child.exit_signal == 9 and child.said == [], "nobody was told"
            there = len(bench.app.runs.list()["items"])
            assert there == (point == "after:run.submitted")
            sent = await bench.app.conversations.send(text, conversation="c", agent="desk", request_id="r-1")
            assert (sent["admitted"], sent["turn"]) == ("existing" if there else "new", 1)
            turn = Played(room, bench, BenchRun(sent["run_id"], None))
            await turn.driven()
            turn.done()
            assert len(bench.app.runs.list()["items"]) == 1

    asyncio.run(body())


# ---------------------------------------------------------------------- the model


@row("asking")
def test_killed_while_the_model_is_asked(room: Room) -> None:
    async def body() -> None:
        async with room.said([[["look", LOOK]], DONE]) as turn:
            await turn.dies("asked")
            assert turn.kinds()[-1] == "asked" and turn.decided() == []
            await turn.driven()
            turn.done()
            assert turn.balanced() == {"requests": 3, "decisions": 2, "lost": 1, "failed": 0}
            first, again, _ = room.lines("requests")
            assert first == again, "the same question"
            told = [item for item in turn_in_full(turn.bench.app.open(), turn.run.run_id) if item["kind"] == "decision"]
            assert [(item["lost"], item["failed"]) for item in told] == [(1, 0), (0, 0)], (
                "the transcript counts it, too"
            )
            assert turn.decided() == sorted(set(turn.decided()))

    asyncio.run(body())


@row("streaming")
def test_killed_while_an_answer_is_streamed(room: Room) -> None:
    async def body() -> None:
        async with room.said([DONE], agent="talker") as turn:
            await turn.dies("streamed")
            assert [piece["word"] for piece in room.lines("pieces")] == ["All", "is"]
            assert turn.kinds()[-1] == "asked" and turn.said() == [] and turn.bench.stored(turn.run).result is None
            await turn.driven()
            turn.done()
            assert turn.said() == [DONE], "once, and whole"
            assert turn.balanced() == {"requests": 2, "decisions": 1, "lost": 1, "failed": 0}
            first, again = room.lines("requests")
            assert first == again

    asyncio.run(body())


@row("streaming")
def test_killed_while_a_provider_streams(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP: the server has sent half of its answer, and counts the request."""
    script = room.folder / "script.json"
    script.write_text(json.dumps([{"text": "I never come to an end."}, {"text": DONE}]))

    async def body(model: ModelServerProcess) -> None:
        async with room.said(["Hello"], agent="speaker") as turn:
            model.fault("hold-stream")
            child = turn.starts()
            await asyncio.to_thread(model.wait, requests=1)
            await asyncio.to_thread(child.kill)
            model.release()
            assert turn.kinds()[-1] == "asked" and turn.said() == []
            assert (await turn.driven()).state == "completed"
            assert turn.said() == [DONE] and turn.kinds().count("decision") == turn.kinds().count("lost") == 1
            assert model.requests_answered() == turn.kinds().count("asked") == 2

    with ModelServerProcess(script=script) as model:
        for name, value in model.environment.items():
            monkeypatch.setenv(name, value)
        asyncio.run(body(model))


@row("compaction")
@pytest.mark.parametrize("at", ["summary", "after:decision.accepted", "before:run.finished"])
def test_killed_during_a_compaction(room: Room, at: str) -> None:
    async def body() -> None:
        async with room.said([DONE]) as first:
            await first.driven()
            await (await said(room, first.bench, [DONE], 2)).driven()
            await first.bench.app.conversations.settings("c", changes={"compact_after": 1})
            third = await said(room, first.bench, [DONE], 3)
            await third.dies("after:run.finished")
            turn = compaction(third)
            await turn.dies(at)
            await turn.driven()
            assert turn.bench.stored(turn.run).state == "completed"
            assert turn.kinds().count("decision") == 1
            lost = turn.kinds().count("lost")
            assert lost == (at == "summary") and len(room.lines("summaries")) == 1 + lost
            fourth = await said(room, first.bench, [DONE], 4)
            assert (await fourth.driven()).state == "completed" and fourth.said() == [DONE]
            # The summary stands for the first of three turns; the two that are left, and the new message, are as they were.
            requests = room.lines("requests")
            assert [request["messages"] for request in requests] == [1, 3, 5, 5]
            assert requests[-1]["begins_with"].endswith("In short.")
            shown = first.bench.app.conversations.show("c")["transcript"]["items"]
            assert [each["text"] for each in shown if each["kind"] == "message"] == [json.dumps([DONE])] * 4

    asyncio.run(body())


def compaction(turn: Played) -> Played:
    """The turn that compacts, behind this one."""
    with turn.bench.app.open().read() as reader:
        (found,) = [each for each in reader.rows(TurnRecord) if each.kind is TurnKind.COMPACTION]
    return Played(turn.room, turn.bench, BenchRun(found.run_id, None))


# ---------------------------------------------------------------------- tools


@row("safe")
def test_killed_in_a_safe_tool(room: Room) -> None:
    async def body() -> None:
        async with room.played([[["look", LOOK]], DONE]) as turn:
            await turn.dies("look")
            await turn.driven()
            turn.done()
            assert len(room.lines("looks")) == 2 and "one chair" in turn.heard()
            assert turn.kinds().count("step") == 1
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}

    asyncio.run(body())


@row("undeclared")
def test_the_model_goes_on_with_what_is_safe(room: Room) -> None:
    """It hears of the interruption at once, reads on, and hears what happened before it is asked again."""

    async def body() -> None:
        async with room.played([[["pay", PAY]], [["look", LOOK]], [["refund", REFUND]], DONE]) as turn:
            await turn.dies("pay after")
            assert (await turn.driven()).reason == "interrupted_tool"
            assert len(room.lines("looks")) == 1 and room.records("crm") == []
            assert await turn.to_the_end() == ["interrupted_tool"]
            turn.done()
            assert room.bodies("bank") == [PAY] and "has happened" in turn.heard()

    asyncio.run(body())


@row("batch", "undeclared")
@pytest.mark.parametrize("dies", ["pay before", "pay after"])
def test_killed_in_one_of_two_undeclared_tools(room: Room, dies: str) -> None:
    """Both were planned before: the second one is sent once the first one is known, and neither twice."""

    async def body() -> None:
        async with room.played([[["pay", PAY], ["pay", OTHER], ["look", LOOK]], DONE]) as turn:
            await turn.dies(dies)
            why = await turn.to_the_end()
            assert why == ["interrupted_tool"]
            turn.done()
            orders = [body["order"] for body in room.bodies("bank")]
            assert len(orders) == len(set(orders))
            states = {json.loads(o.payload)["arguments"]["order"]: o.status.value for o in turn.operations()}
            assert all((states.get(order) == "succeeded") == (order in orders) for order in ("o-1", "o-2"))

    asyncio.run(body())


@row("batch")
@pytest.mark.parametrize("dies", ["refund before", "refund after", "look"])
def test_killed_between_tools_that_stand_side_by_side(room: Room, dies: str) -> None:
    batch = [["look", LOOK], ["refund", REFUND], ["look", {"order": "o-2"}], ["refund", {"order": "o-3", "amount": 1}]]

    async def body() -> None:
        async with room.played([batch, DONE]) as turn:
            await turn.dies(dies)
            assert await turn.to_the_end() == []
            turn.done()
            assert sorted(body["order"] for body in room.bodies("crm")) == ["o-1", "o-3"]
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}
            assert turn.heard().count("order o-") == 2 and turn.heard().count("refund-") == 2

    asyncio.run(body())


@row("deciding")
def test_killed_between_an_answer_and_its_tools(room: Room) -> None:
    async def body() -> None:
        async with room.played([[["pay", PAY], ["refund", REFUND]], DONE]) as turn:
            await turn.dies("after:decision.accepted")
            assert room.lines("pays") == []
            await turn.driven()
            turn.done()
            assert (room.bodies("bank"), room.bodies("crm")) == ([PAY], [REFUND])
            assert turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0, "failed": 0}

    asyncio.run(body())


# ---------------------------------------------------------------------- an abort


@row("abort")
@pytest.mark.parametrize("point", ["before:run.cancelled", "after:run.cancelled"])
@pytest.mark.parametrize("dies", ["asked", "pay after"])
def test_killed_during_an_abort(room: Room, point: str, dies: str) -> None:
    """The worker has died in the model's request or in a tool; then who aborts dies, and aborts again."""

    async def body() -> None:
        async with room.said([[["pay", PAY]], [["refund", REFUND]], DONE]) as turn:
            await turn.dies(dies)
            child = turn.starts(work="tests.crash.desk:aborts", crash_at=point)
            await asyncio.to_thread(child.wait)
            assert child.exit_signal == 9
            await turn.bench.app.conversations.abort("c")
            asked = len(room.lines("requests"))
            assert await turn.to_the_end() == ([] if dies == "asked" else ["interrupted_tool"])
            stored = turn.bench.stored(turn.run)
            assert stored.state == "cancelled" and len(room.lines("requests")) == asked, "no model is asked any more"
            assert room.records("crm") == [] and len(room.records("bank")) == (dies == "pay after")

    asyncio.run(body())


# ---------------------------------------------------------------------- the end


@row("ending")
@pytest.mark.parametrize("point", ["before:record.appended#2", "after:record.appended#2", "before:run.finished"])
def test_killed_at_the_end(room: Room, point: str) -> None:
    async def body() -> None:
        async with room.said([DONE]) as turn:
            await turn.dies(point)
            await turn.driven()
            turn.done()
            assert turn.said() == [DONE] and turn.balanced()["requests"] == 1

    asyncio.run(body())
