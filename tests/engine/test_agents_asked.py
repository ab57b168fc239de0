"""An agent that is asked as a tool does its part of the conversation of the turn that asks."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import SharedBudget
from counterfoil.agents import agent_tool
from counterfoil.app.decisions import DecisionFilter
from counterfoil.model.run import RunRecord
from tests.engine.house import BUDGET, House


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    return House(tmp_path, monkeypatch)


def asking(tool: str, *, times: int = 1, **arguments: Any) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        n = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(parts=[TextPart("done")] if n == times else [ToolCallPart(tool, arguments, f"{tool}-{n}")])

    return FunctionModel(answer)


def declared(house: House, *, looks: int) -> None:
    """`desk` asks `middle`, which asks `inner`, which looks so often."""
    inner = Agent(asking("look", times=looks), output_type=str)

    @inner.tool_plain
    @agent_tool(replay="safe")
    def look() -> str:
        return "seen"

    below = house.app.agent("inner", agent=inner, budget=BUDGET)
    middle = house.app.agent(
        "middle", agent=Agent(asking("inner", text="look"), output_type=str), budget=BUDGET, operations=[below]
    )
    house.app.agent(
        "desk", agent=Agent(asking("middle", text="ask"), output_type=str), budget=BUDGET, operations=[middle]
    )


def child_of(house: House, run: RunRecord) -> RunRecord:
    with house.app.open().read() as reader:
        (child,) = reader.find(RunRecord, "parent_run_id", run.run_id)
    return child


def test_what_the_agents_below_ask_and_use_is_the_conversations(house: House) -> None:
    declared(house, looks=1)
    house.found()

    async def body() -> None:
        async with house.working():
            sent = await house.app.conversations.send("go", conversation="c", request_id="r", agent="desk")
            await house.state(sent["run_id"], "completed")
        (of,) = house.app.decisions.usage(by="conversation")["items"]
        assert (of["key"], of["asked"], of["decisions"]) == ("c", 6, 6)
        wanted = DecisionFilter(conversation="c")
        assert house.app.decisions.usage(wanted)["total"]["asked"] == 6
        agents = [each["agent"] for each in house.app.decisions.list(wanted)["items"]]
        assert sorted(set(agents)) == ["desk", "inner", "middle"]
        shown = house.app.conversations.show("c")
        assert [(turn["n"], turn["run_id"]) for turn in shown["transcript"]["items"]] == [(1, sent["run_id"])]
        house.clean()

    asyncio.run(body())


@pytest.mark.parametrize(
    ("limit", "reason"), [({"calls": {"look": 2}}, "budget_calls"), ({"tokens": 10}, "budget_tokens")]
)
def test_a_budget_of_the_conversation_holds_the_agents_below(house: House, limit: dict[str, Any], reason: str) -> None:
    declared(house, looks=3)
    house.app.budget(SharedBudget(name="one", scope="conversation", owner="ops", **limit))
    house.found()

    async def body() -> None:
        async with house.working():
            sent = await house.app.conversations.send("go", conversation="c", request_id="r", agent="desk")
            run = await house.state(sent["run_id"], "waiting")
            below = child_of(house, run)
            if reason == "budget_calls":
                below = child_of(house, await house.state(below.run_id, "waiting"))
            parked = await house.state(below.run_id, "parked", "completed", "failed")
            assert (parked.reason, parked.owner) == (reason, "ops")
        house.clean()

    asyncio.run(body())
