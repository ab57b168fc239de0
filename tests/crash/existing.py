"""An agent as somebody wrote it for Pydantic AI, who has never heard of Counterfoil. tests/crash/adopted.py makes it durable."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset


@dataclass(frozen=True)
class Clerk:
    """What its tools and its instructions are given."""

    name: str


class Offer(BaseModel):
    """What it answers."""

    order: str
    cents: int


def noted(what: str, said: object) -> None:
    """One more line of what happened, where the program that runs the agent wants to know."""
    if "EXISTING_FOLDER" in os.environ:
        with (Path(os.environ["EXISTING_FOLDER"]) / what).open("a") as file:
            file.write(json.dumps(said) + "\n")


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that calls a tool wrongly once, misses the form of its output once, and offers too little once."""
    n = sum(isinstance(message, ModelResponse) for message in messages)
    noted("questions", {"n": n, "instructions": info.instructions})
    calls: list[list[tuple[str, dict[str, Any]]]] = [
        [("find_order", {"order": "1"})],
        [("find_order", {"order": "o-1"}), ("stock", {"thing": "chair"})],
    ]
    if any(tool.name == "discount" for tool in info.function_tools):
        calls.append([("discount", {"order": "o-1", "percent": 10})])
    for cents in ("forty", 1, 3600):
        calls.append([(info.output_tools[0].name, {"order": "o-1", "cents": cents})])
    planned = [ToolCallPart(name, given, f"call-{n}-{k}") for k, (name, given) in enumerate(calls[n])]
    return ModelResponse(parts=[TextPart("Let me see."), *planned] if n == 0 else planned)


house = FunctionToolset[Clerk]()


@house.tool_plain
def stock(thing: str) -> int:
    """How many there are."""
    noted("stocks", thing)
    return 3


def find_order(ctx: RunContext[Clerk], order: str) -> str:
    """Read an order."""
    noted("orders", order)
    if not order.startswith("o-"):
        raise ModelRetry("An order begins with o-.")
    return f"{order}: one chair, 40 EUR, sold by {ctx.deps.name}"


def discount(order: str, percent: int) -> str:
    """Somebody has to allow it."""
    noted("discounts", order)
    return f"{percent} % off {order}"


def clerk(*tools: Tool[Clerk]) -> Agent[Clerk, Offer | DeferredToolRequests]:
    made = Agent(
        FunctionModel(answer),
        deps_type=Clerk,
        output_type=[Offer, DeferredToolRequests],
        tools=[Tool(find_order, max_retries=2), *tools],
        toolsets=[house],
        retries=3,
        name="clerk",
    )

    @made.instructions
    def who_asks(ctx: RunContext[Clerk]) -> str:
        return f"You work for {ctx.deps.name}."

    @made.output_validator
    def enough(ctx: RunContext[Clerk], output: Offer | DeferredToolRequests) -> Offer | DeferredToolRequests:
        if isinstance(output, Offer) and output.cents < 100:
            raise ModelRetry(f"{ctx.deps.name} gives nothing away.")
        return output

    return made


existing = clerk()
asking = clerk(Tool(discount, requires_approval=True))
