"""An agent of Pydantic AI that Temporal makes durable, with `Counterfoil` beside it as an ordinary capability.

Its process dies; the next one polls the same queue. The workflow keeps the requests that wait, and each word of a client makes
an activity ask the ledger what they are resumed with.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow, TemporalDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from counterfoil import App
from counterfoil.integrations.pydantic_ai import Counterfoil
from counterfoil.testing.bench_child import place
from tests.edges.adapters.refunds import OPERATIONS, Say, app

__all__ = ["app", "play"]

REQUESTS = TypeAdapter(DeferredToolRequests)
SECONDS = timedelta(seconds=5)
given: dict[str, Any] = {}
beside = Counterfoil(app, list(OPERATIONS.values()))


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    heard = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if heard:
        return ModelResponse(parts=[TextPart("told")])
    planned = {"number": given["number"], "amount": given["amount"]}
    return ModelResponse(parts=[ToolCallPart(given["operation"], planned)])


def capabilities() -> list[Any]:
    quick = {"start_to_close_timeout": SECONDS}
    return [TemporalDurability(activity_config=quick), beside]  # pyright: ignore[reportArgumentType]


agent = Agent(
    FunctionModel(answer), name="refunding", output_type=[str, DeferredToolRequests], capabilities=capabilities()
)


@activity.defn
async def asked(stored: str) -> dict[str, Any]:
    """What the ledger says of the requests, by call."""
    requests = REQUESTS.validate_json(stored)
    if given["how"] == "changed":
        (call,) = requests.calls
        requests.calls = [replace(call, args={"number": given["number"], "amount": given["amount"]})]
    results = await beside.results(requests)
    return {each: said if isinstance(said, dict) else {"refused": str(said)} for each, said in results.calls.items()}


@workflow.defn
class GiveBack(PydanticAIWorkflow):
    """One turn of the agent, resumed when the ledger has an answer."""

    __pydantic_ai_agents__ = [agent]

    def __init__(self) -> None:
        self.words = 0
        self.told: dict[str, Any] = {}

    @workflow.signal
    def word(self) -> None:
        self.words += 1

    @workflow.query
    def says(self) -> dict[str, Any]:
        return self.told

    @workflow.run
    async def run(self) -> dict[str, Any]:
        result = await agent.run("Give the money back.")
        while isinstance(result.output, DeferredToolRequests):
            self.told = {"waits": True}
            stored = REQUESTS.dump_json(result.output).decode()
            heard = self.words
            await workflow.wait_condition(lambda heard=heard: self.words > heard)
            said = await workflow.execute_activity(asked, stored, start_to_close_timeout=SECONDS)
            (refused,) = [each.get("refused") for each in said.values()]
            if refused is not None:  # what was approved is still to be given back
                self.told = {"refused": refused}
                continue
            result = await agent.run(
                message_history=result.all_messages(), deferred_tool_results=DeferredToolResults(calls=said)
            )
        (part,) = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
        return {"receipt": part.content} if isinstance(part.content, dict) else {"refused": str(part.content)}


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    given.update(arguments)
    say(asyncio.run(_played(arguments)))
    app.close()


async def _played(arguments: dict[str, Any]) -> dict[str, Any]:
    client = await Client.connect(arguments["address"], plugins=[PydanticAIPlugin()])
    queue = f"{arguments['number']}-{arguments['port']}"
    async with Worker(
        client, task_queue=queue, workflows=[GiveBack], activities=[asked], workflow_runner=UnsandboxedWorkflowRunner(),
        max_cached_workflows=0,
    ):  # fmt: skip
        if arguments["how"] == "begin":
            await client.start_workflow(GiveBack.run, id=queue, task_queue=queue)
        handle = client.get_workflow_handle_for(GiveBack.run, queue)
        if arguments["how"] in ("resume", "changed"):
            await handle.signal(GiveBack.word)
        wanted = "refused" if arguments["how"] == "changed" else "waits"
        ended = asyncio.ensure_future(handle.result())
        never = asyncio.Event()
        while not ended.done():
            if arguments["how"] in ("begin", "changed") and wanted in await handle.query(GiveBack.says):
                ended.cancel()
                return await handle.query(GiveBack.says)
            await app.open().clock.wait(never, app.open().clock.now_us() + 50_000)
        return ended.result()
