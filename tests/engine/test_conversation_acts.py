"""What is done to a conversation: abort, fork, reset, handoff, settings; who may."""

import asyncio
from dataclasses import replace

import pytest

from counterfoil.engine.admission import Admit, seen_of
from counterfoil.engine.submission import submission
from counterfoil.model.conversation import Turn, TurnKind
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord, OperationStatus
from tests.engine.house import House
from tests.engine.talks import go, history, refused, send, talking_entries, turns


def test_an_abort_keeps_what_is_queued_or_withdraws_it(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await refused("not_found", talks.abort("c"))
        first = await send(talking, "wait")
        second = await send(talking, "wait 2", when_busy="follow_up")
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            told = await talks.abort("c", reason="wrong customer")
            assert (told["run_id"], told["heading"], told["kept"]) == (first["run_id"], "cancelled", [second["run_id"]])
            assert "begins when it has ended" in told["sentence"]
            await talking.state(first["run_id"], "cancelled")
            await talking.state(second["run_id"], "waiting")
            third = await send(talking, "3", when_busy="follow_up")
            fourth = await send(talking, "4", when_busy="steer")
            told = await talks.abort("c", queued=True)
            assert (told["run_id"], told["withdrawn"]) == (second["run_id"], [third["run_id"], fourth["run_id"]])
            for each in (second, third, fourth):
                await talking.state(each["run_id"], "cancelled")
        assert talking.count(third["run_id"], "message") == 0
        await refused("nobody_at_work", talks.abort("c"))
        talking.clean()

    asyncio.run(story())


def test_a_fork_shares_the_past_and_goes_its_own_way(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await refused("not_found", talks.fork("c", into="d"))
        async with talking.working():
            for text in ("one", "two", "three"):
                await talking.state((await send(talking, text))["run_id"], "completed")
            forked = await talks.fork("c", into="d", at=2)
            assert forked["forked_from"]["name"] == "c" and forked["forked_from"]["turn"] == 2
            assert (await talks.fork("c", into="d", at=2))["conversation_id"] == forked["conversation_id"]
            await refused("conversation_exists", talks.fork("c", into="d", at=1))
            await refused("no_such_turn", talks.fork("c", into="e", at=9))
            own = await send(talking, "other three", conversation="d")
            await talking.state(own["run_id"], "completed")
            deep = await talks.fork("d", into="f", at=1)
            assert deep["forked_from"]["turn"] == 1
            assert (own["turn"], history(talking.app, own["run_id"])) == (3, ["one", "two"])
            assert turns(talking, "d") == [(1, "message", "one"), (2, "message", "two"), (3, "message", "other three")]
            assert [text for _, _, text in turns(talking)] == ["one", "two", "three"]
            assert [text for _, _, text in turns(talking, "f")] == ["one"]
        talking.clean()

    asyncio.run(story())


def test_a_fork_over_what_is_open_is_refused(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        first = await send(talking, "wait")
        told = await refused("turn_open", talks.fork("c", into="d"))
        assert told.details["run_id"] == first["run_id"]
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await refused("turn_open", talks.fork("c", into="d", at=1))
            await go(talking, first["run_id"])
            await talking.state(first["run_id"], "completed")
        await talks.fork("c", into="d")

    asyncio.run(story())


def test_a_fork_over_an_open_operation_is_refused(talking: House) -> None:
    """A run ends only when nothing of it is open; the rule holds by itself all the same."""
    from counterfoil.engine.conversations import Fork
    from counterfoil.store.batch import Batch
    from counterfoil.store.transaction import Transaction
    from counterfoil.testing.conformance.samples import operation_of

    async def story() -> tuple[str, str]:
        async with talking.working():
            first = await send(talking, "hello")
            await talking.state(first["run_id"], "completed")
        return first["run_id"], first["conversation_id"]

    run_id, conversation_id = asyncio.run(story())
    opened = talking.app.open()
    verb = Fork(opened.installation_id, conversation_id, None, "d", run_id, 1, True)
    operation = operation_of(run_id, "op_1", 1)
    for status, code in ((OperationStatus.UNKNOWN, "turn_open"), (OperationStatus.SUCCEEDED, None)):
        with opened.read() as reader:
            batch = Batch(1, reader.installation, lambda: {}, lambda: {})
            for read in verb.reads():
                if read.index == "key":
                    found = reader.get(read.table, *read.values)
                    batch.loaded(read.table, [read.values], [found] if found else [])
            batch.loaded_by(OperationRecord, "run_id", [run_id], [replace(operation, status=status)])
        tx = Transaction(batch, verb.reads())
        if code is None:
            assert verb.decide(tx).name == "d"
        else:
            with pytest.raises(Refused) as told:
                verb.decide(tx)
            assert told.value.code == code


def test_after_a_reset_the_history_is_empty_and_the_past_is_readable(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        async with talking.working():
            await talking.state((await send(talking, "one"))["run_id"], "completed")
            assert (await talks.reset("c", reason="new customer"))["next"] == "reset"
            await talks.reset("c")
            assert talking_entries(talking) == ["began", "reset"]
            fork = await talks.fork("c", into="d")
            assert fork["next"] == "reset"
            second = await send(talking, "two")
            await talking.state(second["run_id"], "completed")
            third = await send(talking, "three")
            await talking.state(third["run_id"], "completed")
        assert history(talking.app, second["run_id"]) == []
        assert history(talking.app, third["run_id"]) == ["two"]
        assert turns(talking) == [(1, "message", "one"), (2, "reset", "two"), (3, "message", "three")]
        talking.clean()

    asyncio.run(story())


def test_a_handoff_is_to_another_agent_with_the_same_history(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        async with talking.working():
            first = await send(talking, "wait")
            await refused("unknown_workflow", talks.handoff("c", to="nobody"))
            handed = await talks.handoff("c", to="complaints", note="not a refund")
            assert (handed["agent"], handed["next"]) == ("complaints", "handoff")
            await refused("other_agent", send(talking, "two"))
            # A steer after a handoff is not for the agent from before it.
            second = await send(talking, "two", agent="complaints", when_busy="steer")
            assert (second["admitted"], second["into"]) == ("follow_up", None)
            await talking.state(first["run_id"], "waiting")
            await go(talking, first["run_id"])
            await talking.state(second["run_id"], "completed")
        assert history(talking.app, second["run_id"]) == ["wait"]
        shown = talks.show("c")["transcript"]["items"]
        assert [(t["agent"], t["kind"]) for t in shown] == [("refunds", "message"), ("complaints", "handoff")]
        talking.clean()

    asyncio.run(story())


def test_settings_are_kept_and_counted(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await send(talking, "wait")
        await refused("bad_setting", talks.settings("c", changes={"when_busy": "sometimes"}))
        set_ = await talks.settings("c", changes={"when_busy": "follow_up", "model": "openai:small"})
        assert (set_["settings"], set_["settings_version"]) == ({"when_busy": "follow_up", "model": "openai:small"}, 1)
        await talks.settings("c", changes={"model": "openai:small"})
        assert (await send(talking, "two"))["admitted"] == "follow_up"
        taken = await talks.settings("c", changes={"model": None})
        assert (taken["settings"], taken["settings_version"]) == ({"when_busy": "follow_up"}, 2)
        assert talking_entries(talking) == ["began", "set", "set"]
        talking.clean()

    asyncio.run(story())


def test_who_may_not_speak_with_the_agent_changes_nothing(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        await talking.app.access.grants.grant("manager", "read", kind="conversation")
        await talking.app.access.grants.grant("lead", "read", kind="conversation")
        await talking.app.access.grants.grant("ops", "submit", workflow="complaints")
        await send(talking, "hello")
        for body in (
            send(talking, "more", by="ana", when_busy="follow_up"), talks.reset("c", by="ana"),
            talks.handoff("c", to="complaints", by="ana"), talks.settings("c", changes={"a": 1}, by="ana"),
            talks.abort("c", by="ana"),
        ):  # fmt: skip
            await refused("not_permitted", body)
        assert talking_entries(talking) == ["began"]
        began = await send(talking, "hi", conversation="mine", agent="complaints", by="ana")
        assert (await talks.reset("mine", by="ana"))["created_by"] == "ana" and began["admitted"] == "new"

    asyncio.run(story())


def test_a_conversation_is_named_by_name_id_and_number(talking: House) -> None:
    async def story() -> None:
        talks = talking.app.conversations
        sent = await send(talking, "hello", conversation="customer 4711")
        for text in ("customer 4711", sent["conversation_id"], "conversation-1"):
            assert talks.show(text)["name"] == "customer 4711"
        for text in ("customer", "conversation-2", "conv_1", ""):
            with pytest.raises(Refused, match="There is no conversation"):
                talks.show(text)
        for name in ("", "  ", "x" * 501):
            await refused("usage", send(talking, "hello", "r2", conversation=name))
        await refused("not_found", talks.send("x", conversation="new", request_id="r3"))
        await refused("unknown_workflow", send(talking, "x", "r4", agent="nobody", conversation="n"))

    asyncio.run(story())


def test_what_is_said_in_a_conversation_is_not_submitted_past_it(talking: House) -> None:
    async def story() -> None:
        workflow = talking.app.registry.newest("refunds")
        given = {"text": "hello", "conversation": "c"}
        await refused("in_conversation", talking.app.submit(workflow, Turn(**given), request_id="r"))
        await refused("in_conversation", talking.app.runs.submit("refunds", given, request_id="r"))
        alone = await talking.app.runs.submit("refunds", {"text": "hello"}, request_id="r")
        assert alone["admitted"] == "new" and talking.app.conversations.list()["items"] == []

    asyncio.run(story())


def test_a_turn_that_others_followed_is_not_retried(talking: House) -> None:
    """It is their history: who runs it again changes what they were told."""

    async def story() -> None:
        async with talking.working():
            first = await send(talking, "fail")
            await talking.state(first["run_id"], "failed")
            assert (await talking.app.runs.retry(first["run_id"]))["state"] == "pending"
            busy = await send(talking, "more", when_busy="follow_up")
            assert busy["admitted"] == "follow_up"
            await talking.state(busy["run_id"], "completed")
            await refused("turn_followed", talking.app.runs.retry(first["run_id"]))
            told = talking.app.runs.show(first["run_id"])["next_action"]
            assert told["command"] is None and "say it again" in told["sentence"]
            assert talking.run(first["run_id"]).state == "failed"
            stuck = await send(talking, "stuck")
            await talking.state(stuck["run_id"], "parked")
            await send(talking, "behind", when_busy="follow_up")
            await talking.app.runs.retry(stuck["run_id"])  # it has not ended: whoever follows has not begun
            await talking.state(stuck["run_id"], "parked")

    asyncio.run(story())


def test_a_fork_waits_for_the_turn_that_it_goes_on_from(talking: House) -> None:
    """The last shared turn was taken up again before anything was said in the fork."""

    async def story() -> None:
        talks = talking.app.conversations
        async with talking.working():
            first = await send(talking, "fail")
            await talking.state(first["run_id"], "failed")
            await talks.fork("c", into="d")
        await talking.app.runs.retry(first["run_id"])
        await refused("conversation_busy", send(talking, "hello", conversation="d"))
        queued = await send(talking, "hello", conversation="d", when_busy="follow_up")
        assert talking.run(queued["run_id"]).after_run_id == first["run_id"]
        async with talking.working():
            await talking.state(queued["run_id"], "completed")
        assert history(talking.app, queued["run_id"]) == ["fail"]

    asyncio.run(story())


def test_a_fork_over_a_withdrawn_turn_waits_for_the_one_before_it(talking: House) -> None:
    async def story() -> None:
        first = await send(talking, "wait")
        second = await send(talking, "2", when_busy="follow_up")
        async with talking.working():
            await talking.state(first["run_id"], "waiting")
            await talking.app.runs.cancel(second["run_id"])
            await talking.state(second["run_id"], "cancelled")
            await refused("turn_open", talking.app.conversations.fork("c", into="d"))
            await go(talking, first["run_id"])
            await talking.state(first["run_id"], "completed")
        await talking.app.conversations.fork("c", into="d")

    asyncio.run(story())


def test_a_compaction_uses_up_no_reset(talking: House) -> None:
    async def story() -> None:
        async with talking.working():
            first = await send(talking, "one")
            await talking.state(first["run_id"], "completed")
            await talking.app.conversations.reset("c")
        opened = talking.app.open()
        given = {"text": "", "conversation": "c"}
        begun = submission(opened.installation_id, opened.registry.newest("refunds"), given, "k", opened.deadlines)
        with opened.read() as reader:
            seen = seen_of(reader, first["conversation_id"])
        await opened.write(Admit.of(begun, opened.installation_id, "c", seen, kind=TurnKind.COMPACTION))
        second = await send(talking, "two", when_busy="follow_up")
        assert [kind for _, kind, _ in turns(talking)] == ["message", "compaction", "reset"]
        assert history(talking.app, second["run_id"]) == []

    asyncio.run(story())
