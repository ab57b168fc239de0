"""A turn of an agent in this process: parts of a workflow as tools, news while it works, and a model that is left when it is cancelled."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.agents import agent_tool, current_run
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import Refused
from tests.engine.house import BUDGET, House

Model = Callable[[list[ModelMessage], AgentInfo], Any]


def agent_with(model: Model) -> Agent[None, str]:
    return Agent(FunctionModel(model), output_type=str, name="desk")


def numbered(*answers: ModelResponse) -> Model:
    """The n-th answer to the n-th question of the history."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        return answers[sum(isinstance(message, ModelResponse) for message in messages)]

    return answer


def calls(tool: str, **arguments: Any) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool, arguments, f"call-{tool}")])


DONE = ModelResponse(parts=[TextPart("done")])


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    made = House(tmp_path, monkeypatch)
    return made


def test_a_tool_that_is_a_part_of_the_workflow_sleeps_and_writes_documents(house: House) -> None:
    agent = agent_with(numbered(calls("wait", hours=2), DONE))
    begun: list[int] = []

    @agent.tool_plain
    @agent_tool(replay="run")
    async def wait(hours: int) -> str:
        begun.append(hours)
        run = current_run()
        await run.document("plan", f"wait {hours} hours")
        await run.sleep(timedelta(hours=hours))
        return f"waited until {run.now().isoformat()}"

    desk = house.app.agent("desk", agent=agent, budget=BUDGET)
    house.found()

    async def body() -> None:
        async with house.working():
            turn = await house.app.submit(desk.workflow, Turn(text="wait"), request_id="r-1")
            await house.state(turn.run_id, "waiting")
            house.clock.advance(7200)
            await house.state(turn.run_id, "completed")
        kinds = [kind for kind, _, _ in house.entries(turn.run_id)]
        assert kinds.count("timer") == kinds.count("fired") == kinds.count("document") == 1
        assert len(begun) == 2, "it ran again when its run was taken up again"
        house.clean()

    asyncio.run(body())
    house.app.close()


def test_there_is_no_current_run_elsewhere() -> None:
    with pytest.raises(Refused) as refused:
        current_run()
    assert refused.value.code == "outside_run"


def test_a_run_that_is_cancelled_leaves_its_model(house: House) -> None:
    asked = asyncio.Event()

    async def hanging(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("it never answers")

    desk = house.app.agent("desk", agent=agent_with(hanging), budget=BUDGET)
    house.found()

    async def body() -> None:
        async with house.working():
            turn = await house.app.submit(desk.workflow, Turn(text="hello"), request_id="r-1")
            await asyncio.wait_for(asked.wait(), 20)
            await house.app.runs.cancel(turn.run_id, by="ana", reason="enough")
            await house.state(turn.run_id, "cancelled")
        house.clean()

    asyncio.run(body())
    house.app.close()


def test_what_the_user_says_meanwhile_is_read_before_the_next_question(house: House) -> None:
    heard: list[str] = []
    working, go_on = asyncio.Event(), asyncio.Event()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard.append(str([getattr(part, "content", "") for message in messages for part in message.parts]))
        return numbered(calls("look"), DONE)(messages, info)

    agent = agent_with(answer)

    @agent.tool_plain
    @agent_tool(replay="safe")
    async def look() -> str:
        working.set()
        await go_on.wait()
        return "seen"

    house.app.agent("desk", agent=agent, budget=BUDGET)
    house.found()

    async def said(text: str, request_id: str) -> dict[str, Any]:
        return await house.app.conversations.send(
            text, conversation="c", request_id=request_id, agent="desk", when_busy="steer"
        )

    async def body() -> None:
        async with house.working():
            turn = await said("hello", "m-1")
            await asyncio.wait_for(working.wait(), 20)
            steer = await said("in blue, please", "m-2")
            assert (steer["admitted"], steer["into"]) == ("steer", turn["run_id"])
            assert (await said("in blue, please", "m-2"))["admitted"] == "existing"
            go_on.set()
            await house.state(turn["run_id"], "completed")
        assert [text.count("in blue, please") for text in heard] == [0, 1]
        house.clean()

    asyncio.run(body())
    house.app.close()


@pytest.mark.parametrize("word", [ModelRetry("try again"), ToolFailed("it failed")])
@pytest.mark.parametrize("behind", [ConnectionResetError("gone"), TimeoutError(), ValueError("no JSON")])
def test_a_word_that_answers_another_exception_proves_nothing(house: House, word: Exception, behind: Exception) -> None:
    acted: list[int] = []
    agent = agent_with(numbered(calls("pay", amount=5), calls("pay", amount=5), DONE))

    @agent.tool_plain
    async def pay(amount: int) -> str:
        acted.append(amount)
        try:
            raise behind
        except Exception:
            raise word from None

    desk = house.app.agent("desk", agent=agent, budget=BUDGET)
    house.found()

    async def body() -> None:
        async with house.working():
            turn = await house.app.submit(desk.workflow, Turn(text="pay"), request_id="r-1")
            await house.state(turn.run_id, "waiting")  # as after every attempt that failed, for a second
            house.clock.advance(2)
            run = await house.state(turn.run_id, "parked")
            assert run.reason == "interrupted_tool"
        assert acted == [5], "the second call is held"
        house.clean()

    asyncio.run(body())
    house.app.close()


def test_a_word_of_its_own_is_told(house: House) -> None:
    agent = agent_with(numbered(calls("pay", amount=5), DONE))

    @agent.tool_plain
    async def pay(amount: int) -> str:
        raise ModelRetry("not so much")

    desk = house.app.agent("desk", agent=agent, budget=BUDGET)
    house.found()

    async def body() -> None:
        async with house.working():
            turn = await house.app.submit(desk.workflow, Turn(text="pay"), request_id="r-1")
            await house.state(turn.run_id, "completed")
        house.clean()

    asyncio.run(body())
    house.app.close()
