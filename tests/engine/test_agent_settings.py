"""What a conversation's settings do: another model, also for its compactions, and whatever its agent reads, as the turn began."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.agents import agent_tool, conversation_settings, current_run
from counterfoil.model.errors import Refused
from tests.engine.house import BUDGET, House


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    return House(tmp_path, monkeypatch)


def sent(house: House, request: str) -> Any:
    return house.app.conversations.send("go", conversation="c", request_id=request, agent="desk")


class Reader:
    """A turn of it reads its settings in its instructions, and in tools before and after it has slept."""

    def __init__(self, house: House) -> None:
        self.read: list[Any] = []
        self.instructed: list[str | None] = []
        self.agent = agent = Agent(FunctionModel(self.answer), output_type=str, deps_type=str)
        agent.instructions(self.tone)

        @agent.tool_plain
        @agent_tool(replay="run")
        async def wait() -> str:
            self.reads()
            await current_run().sleep(timedelta(hours=2))
            return "waited"

        @agent.tool_plain
        @agent_tool(replay="safe")
        def look() -> str:
            """A plain function: it runs in a thread."""
            self.reads()
            return "seen"

        house.app.agent("desk", agent=agent, budget=BUDGET, deps=lambda: str(conversation_settings().get("tone")))

    def tone(self) -> str:
        return f"Be {conversation_settings().get('tone')}."

    def reads(self) -> None:
        self.read.append(conversation_settings().get("tone"))

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        self.instructed.append(last.instructions)
        n = sum(isinstance(each, ModelResponse) for each in messages)
        called = ["wait", "look"][n % 3] if n % 3 < 2 else None
        return ModelResponse(parts=[TextPart("done") if called is None else ToolCallPart(called, {}, f"call-{n}")])


def test_a_turn_reads_the_settings_that_it_began_with(house: House) -> None:
    reader = Reader(house)
    talks = house.app.conversations
    house.found()

    async def body() -> None:
        async with house.working():
            await house.state((await sent(house, "r-0"))["run_id"], "waiting")
            await talks.settings("c", changes={"tone": "kind"})
            house.clock.advance(7200)
            turn = talks.show("c")["transcript"]["items"][0]
            await house.state(turn["run_id"], "completed")
            assert reader.read == [None, None, None], "there were none as it began"
            first = await sent(house, "r-1")
            await house.state(first["run_id"], "waiting")
            await talks.settings("c", changes={"tone": "short"})
            house.clock.advance(7200)
            await house.state(first["run_id"], "completed")
            assert reader.read[3:] == ["kind", "kind", "kind"], "before it slept, at the replay, and after"
            assert reader.instructed[3:] == ["Be kind."] * 3
            second = await sent(house, "r-2")
            await house.state(second["run_id"], "waiting")
            assert reader.read[6:] == ["short"]
            house.clock.advance(7200)
            await house.state(second["run_id"], "completed")
        assert conversation_settings() == {}
        house.clean()

    asyncio.run(body())


def test_another_model_answers_and_compacts(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.app.agent("desk", agent=Agent(by("own"), output_type=str), budget=BUDGET)
    house.found()
    talks = house.app.conversations

    async def body() -> None:
        async with house.working():
            for n in range(3):
                await house.state((await sent(house, f"r-{n}"))["run_id"], "completed")
            await talks.settings("c", changes={"model": "openai-chat:another"})
            turn = await sent(house, "r-3")
            await house.state(turn["run_id"], "completed")
            compaction = await talks.compact("c")
            await house.state(compaction["run_id"], "completed")
        asked = [each["versions"]["model"] for each in house.app.decisions.list()["items"]]
        assert asked == ["another", "another", "own", "own", "own"]
        house.clean()

    def found(name: Any, **_: Any) -> Any:
        return by("another") if name == "openai-chat:another" else name

    monkeypatch.setattr("pydantic_ai.models.infer_model", found)
    asyncio.run(body())


def by(name: str) -> FunctionModel:
    return FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(name)]), model_name=name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("model", "small"), ("model", 5), ("model", ":x"), ("model", "openai:"), ("compact_after", 0),
     ("compact_after", "5"), ("compact_after", True), ("compact_after", 1.5)],
)  # fmt: skip
def test_a_setting_of_ours_is_looked_at(house: House, name: str, value: Any) -> None:
    house.app.agent("desk", agent=Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[]))), budget=BUDGET)
    house.found()

    async def body() -> None:
        await sent(house, "r-0")
        with pytest.raises(Refused) as refused:
            await house.app.conversations.settings("c", changes={name: value})
        assert refused.value.code == "bad_setting" and name in refused.value.message

    asyncio.run(body())
