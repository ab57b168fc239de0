"""What counts as a call of a tool: one call of the model, under the name that the model uses."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ApprovalRequired, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from counterfoil import Budget, ReviewBy, SharedBudget
from counterfoil.agents import agent_tool
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.codec import parsed
from tests.engine.house import SECRET, House

BY_LEAD = ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    return House(tmp_path, monkeypatch)


def once(tool: str, **arguments: Any) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, arguments, "call")])

    return FunctionModel(answer)


def used(house: House) -> list[dict[str, int]]:
    with house.app.open().read() as reader:
        return [parsed(row.used) for row in reader.rows(BudgetRecord)]


def played(house: House, agent: Agent[Any, Any], limits: dict[str, int], *, reviewed: bool = False) -> None:
    """One turn of an agent whose calls are limited so, to its end."""
    budget = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="lead", calls=limits)
    house.app.agent("desk", agent=agent, budget=budget)
    house.found()

    async def body() -> None:
        async with house.working():
            sent = await house.app.conversations.send("go", conversation="c", request_id="r", agent="desk")
            if reviewed:
                await house.state(sent["run_id"], "waiting")
                (review,) = house.app.reviews.list()["items"]
                await house.app.reviews.approve(
                    review["review_id"], by="ana", secret=SECRET, digest=review["digest"], comment="yes"
                )
            await house.state(sent["run_id"], "completed")

    asyncio.run(body())


@pytest.mark.parametrize("safe", [False, True])
def test_a_call_that_asks_for_its_approval_is_one_call(house: House, safe: bool) -> None:
    agent = Agent(once("pay", cents=5), output_type=str)

    @agent.tool
    @agent_tool(replay="safe" if safe else None, review=BY_LEAD)
    def pay(ctx: RunContext[Any], cents: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"paid {cents}"

    played(house, agent, {"pay": 1}, reviewed=True)
    assert used(house) == [{"calls:pay": 1}]
    house.clean()


def test_a_prefixed_tool_is_counted_by_the_name_that_the_model_uses(house: House) -> None:
    def look(order: str) -> str:
        return order

    agent = Agent(once("desk_look", order="o-1"), output_type=str, toolsets=[FunctionToolset([look]).prefixed("desk")])
    played(house, agent, {"desk_look": 1})
    assert used(house) == [{"calls:desk_look": 1}]
    house.clean()


def test_what_an_agent_asks_its_model_is_no_call_of_it(house: House) -> None:
    """It is asked twice within its turn; nobody asked the agent as a tool."""
    agent = Agent(once("look"), output_type=str)
    agent.tool_plain(agent_tool(replay="safe")(look))
    house.app.budget(SharedBudget(name="asked", scope="workflow", calls={"desk": 1}, owner="ops"))
    played(house, agent, {})
    ((figures),) = used(house)
    assert "calls:desk" not in figures
    house.clean()


def look() -> str:
    """Look."""
    return "seen"
