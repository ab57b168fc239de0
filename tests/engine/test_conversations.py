"""Conversations: admission, a message once for ever, what happens while a turn is at work."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from counterfoil.engine.admission import Admit, WhenBusy, seen_of
from counterfoil.engine.leases import Claim, _claimable
from counterfoil.engine.steering import TakeSteer, unread_steers
from counterfoil.engine.submission import submission
from counterfoil.model import ids
from counterfoil.model.conversation import ConversationRecord, SignalRecord, TurnRecord
from counterfoil.model.run import RunState
from counterfoil.testing.conformance.samples import run_named
from tests.engine.house import House
from tests.engine.talks import go, history, refused, send, turns


def test_a_message_is_a_turn_and_a_run_in_one_commit(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "hello")
        assert (first["admitted"], first["turn"], first["conversation"], first["state"]) == ("new", 1, "c", "pending")
        with talking.app.open().read() as reader:
            conversation = reader.get(ConversationRecord, first["conversation_id"])
            turn = reader.get(TurnRecord, first["run_id"])
            begun, submitted = list(reader.journal())[-2:]
        assert conversation is not None and (conversation.head_run_id, conversation.turns) == (first["run_id"], 1)
        assert turn is not None and (turn.n, turn.prior_run_id, turn.kind) == (1, None, "message")
        assert (begun[1].kind, submitted[1].kind) == ("conversation", "submitted")
        async with talking.working():
            await talking.state(first["run_id"], "completed")
            second = await send(talking, "and more")
            await talking.state(second["run_id"], "completed")
        assert history(talking.app, second["run_id"]) == ["hello"]
        assert turns(talking) == [(1, "message", "hello"), (2, "message", "and more")]
        said = talking.app.conversations.show("c")["transcript"]["items"][1]["messages"]
        assert [(each["role"], each["text"]) for each in said] == [("user", "and more"), ("agent", "heard and more")]
        talking.clean()

    asyncio.run(story())


def test_a_request_id_is_one_message_for_ever(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "hello", "r")
        again = await send(talking, "hello", "r")
        assert (again["admitted"], again["run_id"], again["turn"]) == ("existing", first["run_id"], 1)
        conflict = await refused("request_conflict", send(talking, "other", "r"))
        assert conflict.details["stored"] != conflict.details["given"]
        await refused("request_conflict", send(talking, "hello", "r", conversation="another"))
        async with talking.working():
            await talking.state(first["run_id"], "completed")
        again = await send(talking, "hello", "r", when_busy="steer")
        assert (again["admitted"], again["result"]) == ("existing", "hello")
        assert turns(talking) == [(1, "message", "hello")]
        assert [each["name"] for each in talking.app.conversations.list()["items"]] == ["c"]

    asyncio.run(story())


@pytest.mark.parametrize("state", ["pending", "waiting", "parked"])
def test_a_busy_conversation_refuses_and_says_what_is_safe(talking: House, state: str) -> None:
    async def story() -> None:
        first = await send(talking, "stuck" if state == "parked" else "wait")
        if state != "pending":
            async with talking.working():
                await talking.state(first["run_id"], state)
        busy = await refused("conversation_busy", send(talking, "more"))
        assert busy.details["run_id"] == first["run_id"] and "same request id" in busy.safe_next
        assert len(turns(talking)) == 1 and busy.details["state"] == state

    asyncio.run(story())


def test_follow_ups_begin_one_after_the_other(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait 1")
        second = await send(talking, "wait 2", when_busy="follow_up")
        third = await send(talking, "3", when_busy="follow_up")
        assert (second["admitted"], second["state"], second["reason"]) == ("follow_up", "waiting", "turn")
        assert f"run-{first['number']}" in second["sentence"]
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await talking.app.signals.send(
                second["run_id"], "other", {}, signal_id="x"
            )  # wakes whoever is not held back
            await go(talking, second["run_id"])
            assert talking.run(second["run_id"]).due_at is None, "no worker looks at it again and again"
            shown = talking.app.conversations.show("c")
            assert (shown["at_work"]["run_id"], shown["queued"]) == (first["run_id"], 2)
            await go(talking, first["run_id"])
            assert (await talking.state(third["run_id"], "completed")).result == '"3"'
        order = [e.run_id for e in started(talking)]
        assert order == [first["run_id"], first["run_id"], second["run_id"], third["run_id"]]
        assert history(talking.app, third["run_id"]) == ["wait 1", "wait 2"]
        talking.clean()

    asyncio.run(story())


def started(house: House) -> list[Any]:
    with house.app.open().read() as reader:
        return [entry for _, entry in reader.journal() if entry.kind == "started"]


def test_a_turn_that_fails_lets_the_next_begin(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "fail")
        second = await send(talking, "hello", when_busy="follow_up")
        async with talking.working():
            await talking.state(second["run_id"], "completed")
        assert talking.run(first["run_id"]).state == "failed"
        talking.clean()

    asyncio.run(story())


def test_a_queued_turn_that_is_cancelled_leaves_its_place(talking: House) -> None:
    """Whoever waited for it waits for what it waited for, before and after it is gone."""

    async def story() -> None:
        first = await send(talking, "wait")
        second = await send(talking, "2", when_busy="follow_up")
        third = await send(talking, "3", when_busy="follow_up")
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await talking.app.runs.cancel(second["run_id"])
            await talking.state(second["run_id"], "cancelled")
            assert talking.run(third["run_id"]).after_run_id == first["run_id"]
            await talking.app.runs.cancel(third["run_id"])
            await talking.state(third["run_id"], "cancelled")
            await refused("conversation_busy", send(talking, "4"))
            fourth = await send(talking, "4", when_busy="follow_up")
            assert talking.run(fourth["run_id"]).after_run_id == first["run_id"]
            assert talking.run(fourth["run_id"]).due_at is None
            await go(talking, first["run_id"])
            await talking.state(fourth["run_id"], "completed")
        assert all(talking.run(each["run_id"]).after_run_id is None for each in (first, second, third, fourth))
        talking.clean()

    asyncio.run(story())


def test_a_steer_is_read_by_the_turn_at_work(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "steered")
        one = await send(talking, "one", when_busy="steer")
        again = await send(talking, "one", when_busy="steer")
        two = await send(talking, "two", when_busy="steer")
        assert (one["admitted"], one["into"], again["admitted"]) == ("steer", first["run_id"], "existing")
        follow = await send(talking, "after", when_busy="follow_up")
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await go(talking, first["run_id"])
            ended = await talking.state(first["run_id"], "completed")
            await talking.state(follow["run_id"], "completed")
        assert ended.result == '"steered + one + two"'
        for each in (one, two):
            run = talking.run(each["run_id"])
            assert (run.state, run.result) == ("completed", f'{{"steered_into":"{first["run_id"]}"}}')
            assert talking.count(each["run_id"], "started") == 0
        assert [kind for _, kind, _ in turns(talking)] == ["message", "steer", "steer", "message"]
        assert history(talking.app, follow["run_id"]) == ["steered"]
        told = await send(talking, "one", when_busy="steer")
        assert (told["admitted"], told["into"]) == ("existing", first["run_id"])
        talking.clean()

    asyncio.run(story())


def test_a_steer_that_is_never_read_is_a_turn_of_its_own(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait")
        steer = await send(talking, "also this", when_busy="steer")
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await go(talking, first["run_id"])
            assert (await talking.state(steer["run_id"], "completed")).result == '"also this"'
        with talking.app.open().read() as reader:
            (left,) = [s for s in reader.find(SignalRecord, "run_id", first["run_id"]) if s.name == "steer"]
        assert left.taken_by is None
        assert history(talking.app, steer["run_id"]) == ["wait"]
        talking.clean()

    asyncio.run(story())


def test_two_messages_at_once_are_two_turns(talking: House) -> None:
    """Both were decided on when nobody was at work: the second looks again, and is queued or refused."""

    async def story() -> None:
        told = await asyncio.gather(*(send(talking, f"m {n}", when_busy="follow_up") for n in range(8)))
        assert sorted(each["admitted"] for each in told) == ["follow_up"] * 7 + ["new"]
        assert sorted(each["turn"] for each in told) == list(range(1, 9))
        async with talking.working():
            for each in told:
                await talking.state(each["run_id"], "completed")
        texts = [text for _, _, text in turns(talking)]
        last = talking.app.conversations.show("c")["transcript"]["items"][-1]
        assert history(talking.app, last["run_id"]) == texts[:-1]
        talking.clean()

    asyncio.run(story())


def test_a_message_that_comes_as_the_turn_ends_looks_again(talking: House) -> None:
    """Admission was prepared against a turn that ended meanwhile: nothing is stored, and the next look finds nobody at work."""

    async def story() -> None:
        opened = talking.app.open()
        first = await send(talking, "hello")
        with opened.read() as reader:
            stale = seen_of(reader, first["conversation_id"])
        async with talking.working():
            await talking.state(first["run_id"], "completed")
        begun = submission(
            opened.installation_id, opened.registry.newest("refunds"), {"text": "x", "conversation": "c"}, "late",
            opened.deadlines,
        )  # fmt: skip
        here = opened.installation_id
        verb = Admit.of(begun, here, "c", stale, when_busy=WhenBusy.STEER)
        assert (await opened.write(verb)).as_ == "new"  # it had ended: nobody is busy
        for when in WhenBusy:  # and now it is not the newest any more
            other = replace(begun, run_id=ids.run_id(here, "refunds", when.value), request_id=when.value)
            assert await opened.write(Admit.of(other, here, "c", stale, when_busy=when)) is None
        assert turns(talking) == [(1, "message", "hello"), (2, "message", "x")]
        second = await send(talking, "y", when_busy="follow_up")
        assert second["admitted"] == "follow_up"
        talking.clean()

    asyncio.run(story())


def test_a_queued_turn_is_not_claimed_even_where_it_is_due(talking: House) -> None:
    due = replace(run_named("run_1", 1), state=RunState.WAITING, due_at=5, after_run_id="run_0")
    assert not _claimable(due, 9)
    assert _claimable(replace(due, after_run_id=None), 9)
    assert _claimable(replace(due, cancel_asked=1), 9), "to be cancelled it needs not wait"


def test_a_steer_is_read_once_and_not_at_all_once_it_is_withdrawn(talking: House) -> None:
    async def story() -> None:
        opened = talking.app.open()
        first = await send(talking, "wait")
        one = await send(talking, "one", when_busy="steer")
        two = await send(talking, "two", when_busy="steer")
        await talking.app.runs.cancel(two["run_id"])
        run = await opened.write(Claim(first["run_id"], "wrk_1", opened.deadlines))

        def take(steer: dict[str, Any], position: str) -> TakeSteer:
            return TakeSteer(first["run_id"], run.fence, position, steer["run_id"], opened.deadlines)

        assert await opened.write(take(two, "1")) is None
        assert (await opened.write(take(one, "1"))).position == "1"
        assert await opened.write(take(one, "2")) is None
        with opened.read() as reader:
            assert [steer.signal_id for steer in unread_steers(reader, first["run_id"])] == [two["run_id"]]
        await refused("fence_lost", opened.write(replace(take(one, "3"), fence=run.fence - 1)))
        talking.clean()

    asyncio.run(story())


def test_an_admission_whose_queue_moved_looks_again(talking: House) -> None:
    """It would wait for a turn that has ended: nobody would ever wake it."""

    async def story() -> None:
        opened = talking.app.open()
        first = await send(talking, "wait")
        second, third = [await send(talking, text, when_busy="follow_up") for text in ("2", "3")]
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await talking.app.runs.cancel(third["run_id"])
            await talking.state(third["run_id"], "cancelled")
            with opened.read() as reader:
                stale = seen_of(reader, first["conversation_id"])
            assert (stale.head, stale.at_work, stale.before) == (third["run_id"], first["run_id"], second["run_id"])
            await talking.app.runs.cancel(second["run_id"])
            await talking.state(second["run_id"], "cancelled")
            begun = submission(
                opened.installation_id, opened.registry.newest("refunds"), {"text": "4", "conversation": "c"}, "4",
                opened.deadlines,
            )  # fmt: skip
            verb = Admit.of(begun, opened.installation_id, "c", stale, when_busy=WhenBusy.FOLLOW_UP)
            assert await opened.write(verb) is None
            fourth = await send(talking, "4", "4", when_busy="follow_up")
            await go(talking, first["run_id"])
            await talking.state(fourth["run_id"], "completed")
        talking.clean()

    asyncio.run(story())
