"""A conversation with an agent: what a later turn begins with, also after a compaction, a fork, a reset, and a turn that was cut off."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.agents.history import HANDED_OVER
from counterfoil.model.errors import Refused
from tests.engine.house import BUDGET, House


class Talk:
    """A house with an agent that says how it was asked; `heard` is what it was given at each question."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = House(folder, monkeypatch)
        self.heard: list[list[str]] = []
        self.hold = asyncio.Event()
        self.asked = asyncio.Event()
        agent = Agent(FunctionModel(self.answer), output_type=str)
        agent.tool_plain(self.pay)
        self.house.app.agent("desk", agent=agent, budget=BUDGET)
        self.house.app.agent("other", agent=Agent(FunctionModel(self.answer), output_type=str), budget=BUDGET)
        self.house.found()

    def pay(self, amount: int) -> str:
        return f"paid {amount}"

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        said = [str(getattr(part, "content", None) or getattr(part, "args", "")) for m in messages for part in m.parts]
        self.heard.append(said)
        newest = messages[-1].parts[-1]
        text = str(newest.content) if isinstance(newest, UserPromptPart) else ""
        if text.startswith("[user-prompt]"):
            return ModelResponse(parts=[TextPart("in short: chairs")])
        if text == "pay":
            return ModelResponse(parts=[ToolCallPart("pay", {"amount": 5}, "call-1")])
        if text == "hang":
            self.asked.set()
            await self.hold.wait()
        return ModelResponse(parts=[TextPart(f"answer to {text or 'the tool'}")])

    async def say(self, text: str, request_id: str, conversation: str = "c") -> str:
        sent = await self.house.app.conversations.send(
            text, conversation=conversation, request_id=request_id, agent="desk"
        )
        await self.house.state(sent["run_id"], "completed")
        return str(sent["run_id"])


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    return Talk(tmp_path, monkeypatch)


def driven(talk: Talk, body: Any) -> None:
    async def all_of_it() -> None:
        async with talk.house.working():
            await body()
        talk.house.clean()

    asyncio.run(all_of_it())
    talk.house.app.close()


def test_a_later_turn_begins_with_what_was_said_and_done(talk: Talk) -> None:
    async def body() -> None:
        await talk.say("hello", "m-1")
        await talk.say("pay", "m-2")
        await talk.say("and now", "m-3")
        assert talk.heard[-1] == [
            "hello", "answer to hello", "pay", "{'amount': 5}", "paid 5", "answer to the tool", "and now",
        ]  # fmt: skip

    driven(talk, body)


def test_a_compaction_stands_for_what_was_before(talk: Talk) -> None:
    async def body() -> None:
        for n, text in enumerate(("one", "two", "three")):
            await talk.say(text, f"m-{n}")
        first = await talk.house.app.conversations.compact("c")
        again = await talk.house.app.conversations.compact("c")
        assert (again["run_id"], again["admitted"]) == (first["run_id"], "existing")
        await talk.house.state(first["run_id"], "completed")
        await talk.say("four", "m-4")
        summary, *rest = talk.heard[-1]
        assert summary.endswith("in short: chairs") and "one" not in str(talk.heard[-1])
        assert rest == ["two", "answer to two", "three", "answer to three", "four"]
        shown = talk.house.app.conversations.show("c")["transcript"]["items"]
        assert [turn["text"] for turn in shown if turn["kind"] == "message"] == ["one", "two", "three", "four"]

    driven(talk, body)


def test_a_context_that_is_too_large_is_compacted_behind_the_turn(talk: Talk) -> None:
    async def body() -> None:
        await talk.say("one", "m-1")
        await talk.house.app.conversations.settings("c", changes={"compact_after": 1})
        for n, text in enumerate(("two", "three")):
            await talk.say(text, f"n-{n}")
            compaction = talk.house.app.conversations.show("c")["transcript"]["items"][-1]
            await talk.house.state(compaction["run_id"], "completed")
        kinds = [turn["kind"] for turn in talk.house.app.conversations.show("c")["transcript"]["items"]]
        assert kinds == ["message", "message", "compaction", "message", "compaction"]

    driven(talk, body)


def test_a_fork_shares_the_past_and_a_reset_leaves_it(talk: Talk) -> None:
    async def body() -> None:
        await talk.say("one", "m-1")
        await talk.say("two", "m-2")
        await talk.house.app.conversations.fork("c", into="d", at=1)
        await talk.say("three", "m-3", "d")
        assert talk.heard[-1] == ["one", "answer to one", "three"]
        await talk.house.app.conversations.reset("c")
        await talk.say("four", "m-4")
        assert talk.heard[-1] == ["four"]

    driven(talk, body)


def test_a_turn_that_was_cut_off_leaves_no_call_without_a_return(talk: Talk) -> None:
    async def body() -> None:
        sent = await talk.house.app.conversations.send("hang", conversation="c", request_id="m-1", agent="desk")
        await asyncio.wait_for(talk.asked.wait(), 20)
        await talk.house.app.conversations.abort("c", by="ana", reason="enough")
        await talk.house.state(sent["run_id"], "cancelled")
        await talk.say("still there?", "m-2")
        assert talk.heard[-1] == ["hang", "still there?"]

    driven(talk, body)


@pytest.mark.parametrize("name", ["conversation-7", "conv_abc"])
def test_a_name_that_reads_as_a_number_or_an_id_begins_nothing(talk: Talk, name: str) -> None:
    async def body() -> None:
        await talk.say("one", "m-1")
        for act in (lambda: talk.say("two", "m-2", name), lambda: talk.house.app.conversations.fork("c", into=name)):
            with pytest.raises(Refused) as refused:
                await act()
            assert refused.value.code == "usage"
        assert [each["name"] for each in talk.house.app.conversations.list()["items"]] == ["c"]

    driven(talk, body)


def test_the_note_of_a_handoff_begins_the_new_agents_history_and_stays_in_it(talk: Talk) -> None:
    async def body() -> None:
        talks = talk.house.app.conversations
        await talk.say("hello", "m-1")
        await talks.handoff("c", to="other", note="She wants a chair, not money.")
        note = f"{HANDED_OVER}\nShe wants a chair, not money."
        for text, id_ in (("and now", "m-2"), ("thanks", "m-3")):
            sent = await talks.send(text, conversation="c", request_id=id_, agent="other")
            await talk.house.state(sent["run_id"], "completed")
        assert talk.heard[1] == ["hello", "answer to hello", note, "and now"]
        assert talk.heard[2] == [*talk.heard[1], "answer to and now", "thanks"]
        turns = talks.show("c")["transcript"]["items"]
        assert [turn["note"] for turn in turns] == [None, "She wants a chair, not money.", None]
        await talks.import_jsonl(talks.export_jsonl("c"), name="there")
        sent = await talks.send("and here", conversation="there", request_id="m-4", agent="other")
        await talk.house.state(sent["run_id"], "completed")
        assert talk.heard[3] == [*talk.heard[2], "answer to thanks", "and here"]
        decisions = talk.house.app.decisions.list()["items"]
        assert len(decisions) >= 3

    driven(talk, body)


def test_a_queued_turn_says_what_it_waits_for(talk: Talk) -> None:
    async def body() -> None:
        app = talk.house.app
        first = await app.conversations.send("hang", conversation="c", request_id="m-1", agent="desk")
        await talk.asked.wait()
        queued = await app.conversations.send(
            "more", conversation="c", request_id="m-2", agent="desk", when_busy="follow_up"
        )
        (pending,) = app.runs.show(queued["run_id"])["pending"]
        assert (pending["kind"], pending["id"]) == ("turn", first["run_id"]) and pending["deadline_at"] is not None
        turns = app.conversations.show("c")["transcript"]["items"]
        assert [turn["pending"] for turn in turns] == [[], [pending]]
        talk.hold.set()
        await talk.house.state(queued["run_id"], "completed")
        assert app.conversations.show("c")["transcript"]["items"][1]["pending"] == []

    driven(talk, body)
