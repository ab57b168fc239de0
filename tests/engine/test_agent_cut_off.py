"""A turn that is cut off in the midst of its calls: what a later turn is told of each, here, in a fork and in an imported copy."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil.agents import agent_tool, current_run
from counterfoil.agents.history import closing_of, history_of
from counterfoil.agents.outcomes import CUT_OFF, UNKNOWN
from counterfoil.app.doctor_artifacts import named_artifacts
from counterfoil.app.turns import turn_in_full
from counterfoil.model.codec import BODY_LIMIT
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.test_conversation_files import sealed
from tests.engine.writes import create_case

ORDER = {"number": "o-1", "amount": 5}
Calls = list[tuple[str, dict[str, Any]]]


class Desk:
    """An agent `desk` that answers the message `go` with the calls of `script`, one list after the other. `heard` is what its
    model was told newest: (tool or user, text) of each part that is no system prompt."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.script: list[Calls] = []
        self.heard: list[tuple[str, str]] = []
        self.paid: list[int] = []
        agent = Agent(FunctionModel(self.answers))
        tools: tuple[Any, ...] = (self.look, self.breaks, self.rest, self.parts, self.pay, self.refuses, self.vanishes)
        for tool in tools:
            agent.tool_plain(tool)
        self.case = create_case(house.app)
        inner = [
            house.app.agent(name, agent=self.other(name), budget=BUDGET) for name in ("payer", "sleeper", "failer")
        ]
        house.app.agent("desk", agent=agent, budget=BUDGET, operations=[self.case, *inner])
        house.found()

    def other(self, name: str) -> Agent[Any, Any]:
        """It pays 7, and then answers, sleeps on, or fails."""

        def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            del info
            answered = sum(isinstance(message, ModelResponse) for message in messages)
            if answered == 0:
                return ModelResponse(parts=[ToolCallPart("pay", {"amount": 7}, "i-1")])
            if name == "payer" or answered == 2:
                return ModelResponse(parts=[TextPart("I have paid 7")])
            return ModelResponse(parts=[ToolCallPart("rest" if name == "sleeper" else "fails", {}, "i-2")])

        agent = Agent(FunctionModel(answers), retries=0)
        agent.tool_plain(self.pay)
        agent.tool_plain(self.rest)

        @agent.tool_plain
        def fails() -> str:
            raise ModelRetry("no")

        return agent

    def answers(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        newest = [part for message in messages[-1:] for part in message.parts]
        self.heard = [
            (getattr(part, "tool_name", None) or part.part_kind, str(part.content))
            for message in messages for part in message.parts if isinstance(part, ToolReturnPart | UserPromptPart)
        ]  # fmt: skip
        begins = isinstance(newest[-1], UserPromptPart) and newest[-1].content == "go"
        answered = sum(isinstance(message, ModelResponse) for message in messages)
        if self.script and (begins or answered):
            calls = self.script.pop(0)
            return ModelResponse(
                parts=[ToolCallPart(name, args, f"c-{answered}-{n}") for n, (name, args) in enumerate(calls)]
            )
        return ModelResponse(parts=[TextPart("ok")])

    # ------------------------------------------------------------------ its tools

    @agent_tool(replay="safe")
    def look(self, order: str) -> str:
        return f"{order}: a chair"

    @agent_tool(replay="safe", tries=1)
    def breaks(self) -> str:
        raise RuntimeError("no such shelf")

    def pay(self, amount: int) -> str:
        self.paid.append(amount)
        return f"paid {amount}"

    def refuses(self) -> str:
        raise ToolFailed("not on Sundays")

    def vanishes(self) -> str:
        raise ConnectionError("gone")

    @agent_tool(replay="run")
    async def rest(self) -> str:
        await current_run().sleep(timedelta(hours=3))
        return "rested"

    @agent_tool(replay="run")
    async def parts(self, order: str) -> str:
        """A part of the workflow: a step, a payment of its own, and then it waits."""
        run = current_run()

        async def counted() -> str:
            return "one"

        await run.gather(run.step(counted), run.perform(self.case, Order(number=order, amount=9)))
        await run.sleep(timedelta(hours=3))
        return "through"

    # ------------------------------------------------------------------ what a test does

    async def goes(self, *answers: Calls) -> str:
        """Begin a turn whose model answers so, and wait until all that can move has moved: it sleeps."""
        self.script = list(answers)
        sent = await self.house.app.conversations.send("go", conversation="c", request_id="go", agent="desk")
        run_id = sent["run_id"]
        await self.house.until(run_id, self.sleeps)
        return run_id

    def sleeps(self, run: RunRecord) -> bool:
        """It waits for what only hours bring. A pause of seconds, as after a call that failed, is over at once."""
        clock = self.house.clock
        if run.state.value == "waiting" and run.due_at is not None and run.due_at - clock.now_us() < 60_000_000:
            clock.advance(60)
            return False
        return run.state.value in ("waiting", "parked") and not self.moving(run)

    def moving(self, run: RunRecord) -> bool:
        """Something of this turn, or of one that it asked, goes on by itself."""
        with self.house.app.open().read() as reader:
            children = reader.find(RunRecord, "parent_run_id", run.run_id)
        resting = all(child.state.ended or child.reason == "timer" for child in children)
        ended = sum(child.state.ended for child in children)
        return bool(self.script) or not resting or ended > self.house.count(run.run_id, "received")

    async def cut(self, run_id: str) -> None:
        await self.house.app.conversations.abort("c", reason="enough", by="ana")
        await self.house.state(run_id, "cancelled", "parked")
        self.house.clock.advance(1)

    async def told(self, conversation: str = "c") -> list[tuple[str, str]]:
        """What the model of another turn is told of the turn before it."""
        sent = await self.house.app.conversations.send(
            "and now?", conversation=conversation, request_id=f"now {conversation}", agent="desk"
        )
        await self.house.state(sent["run_id"], "completed")
        assert (self.heard[0], self.heard[-1]) == (("user-prompt", "go"), ("user-prompt", "and now?"))
        return self.heard[1:-1]


@pytest.fixture
def desk(house_with_crm: House) -> Desk:
    return Desk(house_with_crm)


def driven(desk: Desk, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def all_of_it() -> None:
        async with desk.house.working():
            await body()
        desk.house.clean()

    asyncio.run(all_of_it())


LAST: Calls = [
    ("look", {"order": "o-1"}), ("breaks", {}), ("pay", {"amount": 5}), ("refuses", {}), ("create_case", ORDER),
    ("rest", {}), ("parts", {"order": "o-2"}),
]  # fmt: skip


def test_each_call_of_the_last_answer_is_told_as_it_ended(desk: Desk, crm: SandboxProcess) -> None:
    """And an imported copy and a fork tell the same, again and again."""
    talks = desk.house.app.conversations

    async def body() -> None:
        run_id = await desk.goes(LAST)
        await desk.cut(run_id)
        await talks.fork("c", into="fork")
        await talks.import_jsonl(talks.export_jsonl("c"), name="copy")
        await talks.import_jsonl(talks.export_jsonl("copy"), name="copy of the copy")
        first = await desk.told()
        with desk.house.app.open().read() as reader:
            cases = {
                op.target: (op.number, reader.get(ReceiptRecord, op.receipt_id or ""))
                for op in desk.house.operations(run_id)
            }
        (_, case), (number, part) = cases["o-1"], cases["o-2"]
        assert case is not None and part is not None
        assert sorted(str(record["id"]) for record in crm.records()) == sorted([case.reference, part.reference])
        assert first == [
            ("look", "o-1: a chair"),
            ("breaks", "It failed: RuntimeError: no such shelf"),
            ("pay", "paid 5"),
            ("refuses", "not on Sundays"),
            ("create_case", f'{{"reference":"{case.reference}"}}'),
            ("rest", CUT_OFF),
            ("parts", f'{CUT_OFF} create_case (op-{number}): {{"reference":"{part.reference}"}}'),
        ]
        for name in ("fork", "copy", "copy of the copy"):
            assert await desk.told(name) == first, name

    driven(desk, body)


def test_what_another_agent_did_is_told_and_a_copy_says_the_same(desk: Desk) -> None:
    """One has answered, one still sleeps after it paid, one failed after it paid."""
    talks = desk.house.app.conversations

    async def body() -> None:
        run_id = await desk.goes(
            [(name, {"text": "pay 7"}) for name in ("payer", "sleeper", "failer")] + [("rest", {})]
        )
        with desk.house.app.open().read() as reader:
            runs = {run.workflow: run for run in reader.find(RunRecord, "parent_run_id", run_id)}
        payments = {name: desk.house.operations(run.run_id)[0].number for name, run in runs.items()}
        opened, asleep = desk.house.app.open(), runs["sleeper"].number
        with opened.read() as reader:
            (open_still,) = closing_of(reader, run_id, opened.artifacts.whole)
        assert open_still["parts"][1]["content"] == f"{UNKNOWN} run-{asleep} has not ended."
        await desk.cut(run_id)
        await talks.import_jsonl(talks.export_jsonl("c"), name="copy")
        told = dict(await desk.told())
        for name, state in (("sleeper", "cancelled"), ("failer", "failed")):
            assert told[name].startswith(f"It ended {state} and gave no answer. Before that, {name}_tool ")
            assert f"(op-{payments[name]}): paid 7" in told[name]
        assert told["payer"] == "I have paid 7"
        assert await desk.told("copy") == list(told.items())
        assert desk.paid == [7, 7, 7]
        teller = talks.show("c")["transcript"]["items"][-1]["run_id"]
        before = history_of(opened, [run_id], teller)
        desk.house.clock.advance(1)
        await desk.house.app.runs.retry(runs["failer"].run_id)
        await desk.house.until(runs["failer"].run_id, lambda run: desk.house.count(run.run_id, "finished") == 2)
        assert history_of(opened, [run_id], teller)[-1] == before[-1]  # a replay hears what it heard

    driven(desk, body)


@pytest.mark.parametrize(("as_", "told"), [("succeeded", "has happened"), ("failed", "did not happen. I looked.")])
@pytest.mark.parametrize("known", [False, True], ids=["in the last answer", "before the last answer"])
def test_a_doubt_is_unknown_until_it_is_closed(desk: Desk, as_: str, told: str, known: bool) -> None:
    """Aborted, the turn ends only when somebody has said what happened; that is told once."""

    async def body() -> None:
        answers: list[Calls] = [[("vanishes", {})], [("rest", {})]] if known else [[("vanishes", {}), ("rest", {})]]
        run_id = await desk.goes(*answers)
        await desk.cut(run_id)
        assert (desk.house.run(run_id).state.value, desk.house.run(run_id).reason) == ("parked", "interrupted_tool")
        opened = desk.house.app.open()
        with opened.read() as reader:
            (closing,) = closing_of(reader, run_id, opened.artifacts.whole)
        assert [part["content"] for part in closing["parts"]] == [*([] if known else [UNKNOWN]), CUT_OFF]
        (doubt,) = desk.house.operations(run_id)
        await desk.house.app.operations.resolve(
            doubt.operation_id, as_=as_, by="oscar", secret=SECRET, reason="I looked.", evidence="its log",
            expect_version=doubt.version, reference="r-1" if as_ == "succeeded" else None,
        )  # fmt: skip
        await desk.house.state(run_id, "cancelled")
        said = [text for _, text in await desk.told() if told in text]
        assert len(said) == 1 and f"(op-{doubt.number})" in said[0]

    driven(desk, body)


def test_an_older_file_says_of_no_call_that_it_did_not_happen(desk: Desk) -> None:
    talks = desk.house.app.conversations

    async def body() -> None:
        await desk.cut(await desk.goes([("pay", {"amount": 5}), ("rest", {})]))
        lines = [json.loads(line) for line in talks.export_jsonl("c").splitlines()][:-1]
        assert [line.pop("closing", None) is not None for line in lines] == [line["type"] == "turn" for line in lines]
        await talks.import_jsonl(sealed(lines), name="copy")
        assert await desk.told("copy") == [("pay", UNKNOWN), ("rest", UNKNOWN)]

    driven(desk, body)


def test_a_long_outcome_is_kept_beside_the_journal(desk: Desk) -> None:
    talks = desk.house.app.conversations

    async def body() -> None:
        order = "x" * (BODY_LIMIT // 2)
        await desk.cut(await desk.goes([("look", {"order": order}), ("rest", {})]))
        await talks.import_jsonl(talks.export_jsonl("c"), name="copy")
        assert (await desk.told("copy"))[0] == ("look", f"{order}: a chair")
        copy = talks.show("copy")["transcript"]["items"][0]["run_id"]
        (_, _, finished) = desk.house.entries(copy)[-1]
        assert set(finished["closing"]) == {"artifact"}
        with desk.house.app.open().read() as reader:
            assert finished["closing"]["artifact"] in named_artifacts(reader)

    driven(desk, body)


def test_people_see_of_a_copy_what_the_model_was_told(desk: Desk) -> None:
    talks = desk.house.app.conversations

    async def body() -> None:
        await desk.cut(await desk.goes([("pay", {"amount": 4})], [("pay", {"amount": 5}), ("rest", {})]))
        await talks.import_jsonl(talks.export_jsonl("c"), name="copy")
        copy = talks.show("copy")["transcript"]["items"][0]["run_id"]
        items = turn_in_full(desk.house.app.open(), copy)
        calls = [
            (call["tool"], call["state"], call["returned"], call["failed"])
            for it in items
            for call in it.get("calls", ())
        ]
        assert calls == [
            ("pay", "elsewhere", "paid 4", None), ("pay", "elsewhere", "paid 5", None), ("rest", "elsewhere", CUT_OFF, None),
        ]  # fmt: skip

    driven(desk, body)
