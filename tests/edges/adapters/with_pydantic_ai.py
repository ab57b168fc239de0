"""An agent of Pydantic AI that is run by itself, with `Counterfoil` beside whatever else it has."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import App, Unresolved
from counterfoil.integrations.pydantic_ai import Counterfoil
from counterfoil.testing.bench_child import place
from tests.edges.adapters.refunds import OPERATIONS, Say, app

REQUESTS = TypeAdapter(DeferredToolRequests)
beside = Counterfoil(app, list(OPERATIONS.values()))


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    say(asyncio.run(_played(arguments)))
    app.close()


def agent(arguments: dict[str, Any]) -> Agent[None, Any]:
    """Its model plans one refund, with a call id that is new in each run, and tells what it heard."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        heard = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if heard:
            return ModelResponse(parts=[TextPart("told")])
        planned = {"number": arguments["number"], "amount": arguments["amount"]}
        return ModelResponse(parts=[ToolCallPart(arguments["operation"], planned)])

    return Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests], capabilities=[beside])


async def _played(arguments: dict[str, Any]) -> dict[str, Any]:
    history, requests = (Path(arguments["folder"]) / name for name in ("history.json", "requests.json"))
    if arguments["how"] in ("begin", "again"):
        result = await agent(arguments).run("Give the money back.")
        if isinstance(result.output, DeferredToolRequests):
            history.write_bytes(result.all_messages_json())
            requests.write_bytes(REQUESTS.dump_json(result.output))
            return {"waits": True}
        return _heard(result.all_messages())
    stored = REQUESTS.validate_json(requests.read_bytes())
    if arguments["how"] == "changed":
        (call,) = stored.calls
        stored.calls = [replace(call, args={"number": arguments["number"], "amount": arguments["amount"]})]
    try:
        results = await beside.results(stored)
    except Unresolved as doubt:
        return {"waits": doubt.sentence}
    said = ModelMessagesTypeAdapter.validate_json(history.read_bytes())
    result = await agent(arguments).run(message_history=said, deferred_tool_results=results)
    return _heard(result.all_messages())


def _heard(messages: list[ModelMessage]) -> dict[str, Any]:
    (heard,) = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return {"receipt": heard.content} if isinstance(heard.content, dict) else {"refused": str(heard.content)}
