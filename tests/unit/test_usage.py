"""What an answer used and cost: every request of a run, by the price list of genai-prices; unknown is never zero."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.agents.usage import cost_of, usage_of

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

MILLION = 1_000_000


def response(model: str | None, tokens: int = 1_000, *parts: Any, **more: Any) -> ModelResponse:
    usage = RequestUsage(input_tokens=tokens, output_tokens=tokens // 10)
    shown = parts or (TextPart("yes"),)
    return ModelResponse(parts=shown, model_name=model, provider_name="openai", usage=usage, **more)


def price(model: str, tokens: int = 1_000) -> int:
    return int(response(model, tokens).cost().total_price * MILLION)


def test_a_known_model_has_its_listed_price() -> None:
    assert cost_of(response("gpt-5")) == price("gpt-5") > 0


def test_a_server_of_ones_own_does_not_hide_the_price() -> None:
    assert cost_of(response("gpt-5", provider_url="http://127.0.0.1:1/v1")) == price("gpt-5")


@pytest.mark.parametrize("model", ["no-such-model", None])
def test_an_unknown_model_has_no_cost(model: str | None) -> None:
    assert cost_of(response(model)) is None


def raises() -> Any:
    raise ArithmeticError("the list is damaged")


@pytest.mark.parametrize(
    "cost",
    [raises, lambda: None, lambda: SimpleNamespace(total_price="NaN"), lambda: SimpleNamespace(total_price=-1)],
)
def test_an_answer_is_never_lost_to_its_price(cost: Callable[[], Any]) -> None:
    assert cost_of(SimpleNamespace(cost=cost)) is None


def test_a_paid_call_never_counts_as_free() -> None:
    assert cost_of(SimpleNamespace(cost=lambda: SimpleNamespace(total_price="0.0000001"))) == 1


class Answering(TestModel):
    """Gives these answers in order, each with its own model's name."""

    def __init__(self, *answers: ModelResponse) -> None:
        super().__init__()
        self.coming = list(answers)

    async def request(self, *asked: Any) -> ModelResponse:
        return self.coming.pop(0)


def running(*answers: ModelResponse) -> Any:
    """The result of a run of an agent with one tool."""
    agent: Agent[None, str] = Agent(Answering(*answers))

    @agent.tool_plain
    def look_up() -> str:
        return "found"

    return asyncio.run(agent.run("go"))


def test_every_request_of_a_run_is_paid_for() -> None:
    calls = ToolCallPart("look_up", {})
    usage, cost = usage_of(running(response("gpt-5", 1_000, calls), response("gpt-5", 3_000)))
    assert usage == {"requests": 2, "input_tokens": 4_000, "output_tokens": 400}
    assert cost == price("gpt-5", 1_000) + price("gpt-5", 3_000)


def test_a_part_of_a_cost_does_not_look_like_the_whole() -> None:
    calls = ToolCallPart("look_up", {})
    usage, cost = usage_of(running(response("gpt-5", 1_000, calls), response("no-such-model", 3_000)))
    assert (usage["requests"], cost) == (2, None)


def test_other_shapes_of_a_result() -> None:
    """A single response, an agent of an older shape, and one that says nothing."""
    one = response("gpt-5")
    usage, cost = usage_of(SimpleNamespace(usage=one.usage, response=one))
    assert {"requests": 1} | usage == {"requests": 1, "input_tokens": 1_000, "output_tokens": 100}
    assert cost == price("gpt-5")

    class Older:
        def usage(self) -> Any:
            return SimpleNamespace(requests=2, input_tokens=5, output_tokens=None)

    assert usage_of(Older()) == ({"requests": 2, "input_tokens": 5}, None)
    assert usage_of(object()) == ({}, None)
