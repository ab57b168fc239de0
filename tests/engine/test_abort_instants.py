"""A turn is aborted at every kind of instant: what only reads is left at once, what may have acted is waited for or in doubt."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from counterfoil.agents import agent_tool
from counterfoil.engine.port import Call
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import contract, create_case


def asked_newest(messages: list[ModelMessage]) -> tuple[str, int]:
    """What the user said last, and how many answers came since."""
    said = [(n, part) for n, m in enumerate(messages) for part in m.parts if isinstance(part, UserPromptPart)]
    at, newest = said[-1]
    return str(newest.content), sum(isinstance(message, ModelResponse) for message in messages[at:])


class Desk:
    """Its model calls the tool that the message names, `a, b` one after the other. What hangs says so by `begun`, until `free`."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.begun, self.free, self.thread = asyncio.Event(), asyncio.Event(), threading.Event()
        self.paid: list[int] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        agent = Agent(FunctionModel(self.answers, stream_function=self.streams))
        tools: tuple[Any, ...] = (self.look, self.look_long, self.hang, self.pay, self.vanishes)
        for tool in tools:
            agent.tool_plain(tool)
        sent = house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")
        operations = [sent(self.operation()), create_case(house.app, review=True)]
        house.app.agent("desk", agent=agent, budget=BUDGET, operations=operations)
        house.found()

    def operation(self) -> Any:
        async def slow_case(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            await self.hangs()
            return Receipt(reference=reply.json()["id"])

        return slow_case

    async def hangs(self) -> str:
        self.begun.set()
        await self.free.wait()
        return "free"

    @agent_tool(replay="safe")
    async def look(self) -> str:
        return await self.hangs()

    @agent_tool(replay="safe")
    def look_long(self) -> str:
        """A plain function: it runs in a thread, which nobody can end."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.begun.set)
        self.thread.wait(60)
        return "free"

    async def hang(self) -> str:
        return await self.hangs()

    def pay(self, amount: int) -> str:
        self.paid.append(amount)
        return "paid"

    def vanishes(self) -> str:
        raise ConnectionError("gone")

    async def answers(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if "summary" in (info.instructions or ""):
            await self.hangs()
        text, n = asked_newest(messages)
        tools = [] if text == "nothing" else text.split(", ")
        if n >= len(tools):
            return ModelResponse(parts=[TextPart("ok")])
        given: dict[str, Any] = {"pay": {"amount": 5}}.get(tools[n], {})
        if tools[n].endswith("case"):
            given = {"number": "o-1", "amount": 5}
        return ModelResponse(parts=[ToolCallPart(tools[n], given, f"c-{n}")])

    async def streams(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        answer = await self.answers(messages, info)
        for part in answer.parts:
            if isinstance(part, TextPart) and asked_newest(messages)[0] == "nothing":
                yield "half of "
                if self.loop is None:
                    await self.hangs()
                yield "it"
            elif isinstance(part, TextPart):
                yield part.content
            elif isinstance(part, ToolCallPart):
                yield {0: DeltaToolCall(part.tool_name, str(part.args_as_json_str()), tool_call_id=part.tool_call_id)}

    async def send(self, text: str, request_id: str = "r", **more: Any) -> str:
        talks = self.house.app.conversations
        return (await talks.send(text, conversation="c", request_id=request_id, agent="desk", **more))["run_id"]

    async def abort(self) -> dict[str, Any]:
        return await self.house.app.conversations.abort("c", reason="enough", by="ana")

    async def hung(self, text: str) -> str:
        run_id = await self.send(text)
        await asyncio.wait_for(self.begun.wait(), 30)
        return run_id

    async def next_one(self) -> None:
        """The conversation goes on."""
        self.loop = asyncio.get_running_loop()
        await self.house.state(await self.send("pay", "next"), "completed")


@pytest.fixture
def desk(house_with_crm: House) -> Desk:
    return Desk(house_with_crm)


def driven(desk: Desk, body: Any, *, worker: bool = True) -> None:
    async def all_of_it() -> None:
        if not worker:
            return await body()
        async with desk.house.working():
            await body()
            desk.free.set()
            desk.thread.set()
        desk.house.clean()

    asyncio.run(all_of_it())


@pytest.mark.parametrize("where", ["nothing", "look", "look_long"], ids=["streaming", "safe", "safe in a thread"])
def test_what_only_reads_is_left_at_once(desk: Desk, where: str) -> None:
    async def body() -> None:
        desk.loop = None if where == "nothing" else asyncio.get_running_loop()
        run_id = await desk.hung(where)
        await desk.abort()
        ended = await desk.house.state(run_id, "cancelled")
        assert not desk.free.is_set() and ended.failed_tries == (1 if where == "nothing" else 0)
        await desk.next_one()
        assert desk.paid == [5]

    driven(desk, body)


def test_a_compaction_is_left_at_once(desk: Desk) -> None:
    async def body() -> None:
        desk.loop = asyncio.get_running_loop()
        for n in range(3):
            await desk.house.state(await desk.send("pay", f"r-{n}"), "completed")
        run_id = (await desk.house.app.conversations.compact("c"))["run_id"]
        await asyncio.wait_for(desk.begun.wait(), 30)
        await desk.abort()
        await desk.house.state(run_id, "cancelled")
        assert not desk.free.is_set()

    driven(desk, body)


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_undeclared_tool_is_waited_for_and_at_most_its_longest_time(desk: Desk, comes_back: bool) -> None:
    """What it gave is told. Left, its outcome is a doubt: the turn is parked until somebody says what happened."""

    async def body() -> None:
        desk.loop = asyncio.get_running_loop()
        run_id = await desk.hung("hang")
        await desk.abort()
        desk.house.clock.advance(599)
        assert desk.house.run(run_id).state.value == "running"
        if comes_back:
            desk.free.set()
            await desk.house.state(run_id, "cancelled")
            assert desk.house.operations(run_id)[0].status.value == "succeeded"
            return
        desk.house.clock.advance(1)
        await desk.house.until(run_id, lambda run: desk.house.count(run_id, "classified") == 1)
        desk.house.clock.advance(60)
        parked = await desk.house.state(run_id, "parked")
        assert (parked.reason, parked.heading) == ("interrupted_tool", "cancelled")
        await resolved(desk, run_id)
        await desk.house.state(run_id, "cancelled")

    driven(desk, body)


async def resolved(desk: Desk, run_id: str) -> None:
    (doubt,) = [each for each in desk.house.operations(run_id) if each.status.value == "unknown"]
    await desk.house.app.operations.resolve(
        doubt.operation_id, as_="failed", by="oscar", secret=SECRET, reason="I looked.", evidence="its log",
        expect_version=doubt.version,
    )  # fmt: skip


def test_an_operation_is_waited_for_and_its_answer_counts(desk: Desk, crm: SandboxProcess) -> None:
    async def body() -> None:
        run_id = await desk.hung("slow_case")
        await desk.abort()
        assert desk.house.run(run_id).state.value == "running"
        desk.free.set()
        await desk.house.state(run_id, "cancelled")
        (sent,) = desk.house.operations(run_id)
        assert (sent.status.value, len(crm.records())) == ("succeeded", 1)

    driven(desk, body)


def test_what_waits_for_its_review_is_never_sent(desk: Desk, crm: SandboxProcess) -> None:
    async def body() -> None:
        run_id = await desk.send("create_case")
        await desk.house.until(run_id, lambda run: run.reason == "review")
        await desk.abort()
        await desk.house.state(run_id, "cancelled")
        (sent,) = desk.house.operations(run_id)
        assert (sent.status.value, sent.reason, crm.records()) == ("failed", "cancelled", [])
        await desk.next_one()

    driven(desk, body)


def test_what_is_held_behind_a_doubt_is_never_run(desk: Desk) -> None:
    async def body() -> None:
        run_id = await desk.send("vanishes, pay")
        await desk.house.until(run_id, lambda run: desk.house.count(run_id, "classified") == 1)
        await desk.house.until(run_id, lambda run: run.state.value == "waiting")
        desk.house.clock.advance(60)
        await desk.house.until(run_id, lambda run: run.reason == "interrupted_tool")
        await desk.abort()
        assert desk.house.run(run_id).heading == "cancelled"
        await resolved(desk, run_id)
        await desk.house.state(run_id, "cancelled")
        assert desk.paid == []

    driven(desk, body)


def test_what_is_queued_begins_when_the_aborted_turn_has_ended_and_is_withdrawn_by_itself(desk: Desk) -> None:
    async def body() -> None:
        run_id = await desk.hung("look")
        desk.loop = asyncio.get_running_loop()
        follows = [await desk.send("pay", f"q-{n}", when_busy="follow_up") for n in range(2)]
        await desk.house.app.runs.cancel(follows[0], reason="not this one")
        await desk.abort()
        await desk.house.state(run_id, "cancelled")
        await desk.house.state(follows[0], "cancelled")
        await desk.house.state(follows[1], "completed")
        assert desk.paid == [5] and desk.house.count(follows[0], "asked") == 0

    driven(desk, body)


def test_before_it_is_claimed_nothing_of_it_ever_runs(desk: Desk) -> None:
    async def body() -> None:
        run_id = await desk.send("pay")
        await desk.abort()
        async with desk.house.working():
            await desk.house.state(run_id, "cancelled")
        assert desk.paid == [] and desk.house.count(run_id, "asked") == 0
        desk.house.clean()

    driven(desk, body, worker=False)
