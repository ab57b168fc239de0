"""A question asked anew: one request, the new prompt in place of the old, and nothing of the agent acts on the answer."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, NativeOutput, RunContext, ToolOutput
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, ToolsetTool

from counterfoil.agents.answered import schema_of
from counterfoil.agents.messages import plain_of
from counterfoil.agents.replaying import Asked, Replayer, replayer
from counterfoil.model.errors import Refused


class Choice(BaseModel):
    item: str
    amount: int = 1


class Seen:
    """A model that gives one answer, and keeps what it was asked."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.asked: list[tuple[list[ModelMessage], AgentInfo]] = []

    def model(self) -> FunctionModel:
        def answered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.asked.append((messages, info))
            return ModelResponse(parts=list(self.parts))

        return FunctionModel(answered)

    def ask(self, inputs: dict[str, Any], saved: Any = None, *, prompt: str | None = None, agent: Any = None) -> Asked:
        return asyncio.run(Replayer(self.model(), prompt, agent).ask(inputs, saved))

    @property
    def tools(self) -> list[str]:
        (_, info), = self.asked  # fmt: skip
        return [tool.name for tool in info.function_tools]

    @property
    def instructions(self) -> str | None:
        (_, info), = self.asked  # fmt: skip
        return info.instructions


def output(**fields: Any) -> ToolCallPart:
    return ToolCallPart("final_result", fields)


def agent(**more: Any) -> Agent[Any, Any]:
    return Agent(output_type=more.pop("output_type", Choice), instructions="The old prompt.", **more)


def test_an_agent_asks_as_it_does_now() -> None:
    seen = Seen(output(item="tea"))
    assert seen.ask({"input": {"wish": "tea"}}, agent=agent()).output == {"item": "tea", "amount": 1}
    ((messages, _),) = seen.asked
    assert json.loads(str(messages[-1].parts[-1].content)) == {"wish": "tea"}  # type: ignore[union-attr]
    assert seen.instructions == "The old prompt."


def test_a_prompt_takes_the_place_of_the_agents() -> None:
    seen = Seen(output(item="tea"))
    seen.ask({"input": "tea"}, agent=agent(), prompt="The new prompt.")
    assert seen.instructions == "The new prompt."


def test_nothing_of_the_agent_acts_on_the_answer() -> None:
    acted: list[str] = []

    def hand_over(item: str) -> str:
        acted.append("output function")
        return item

    acting: Agent[Any, Any] = Agent(output_type=ToolOutput(hand_over, name="final_result"))

    @acting.output_validator
    def validate(ctx: RunContext[Any], value: Any) -> Any:
        acted.append("validator")
        return value

    @acting.tool_plain
    def pay(amount: int) -> str:
        acted.append("tool")
        return "paid"

    assert Seen(output(item="tea")).ask({"input": "x"}, agent=acting).output == {"item": "tea"}
    called = Seen(ToolCallPart("pay", {"amount": 3})).ask({"input": "x"}, agent=acting).output
    assert called == {"text": "", "tool_calls": [{"tool": "pay", "args": {"amount": 3}}]}
    assert acted == []


def test_one_request_and_no_more() -> None:
    seen = Seen(ToolCallPart("pay", {}), ToolCallPart("pay", {}))
    paying = agent()
    paying.tool_plain(pay)
    asked = seen.ask({"input": "x"}, agent=paying)
    assert (len(seen.asked), asked.usage["requests"], len(asked.output["tool_calls"])) == (1, 1, 2)


def pay() -> str:
    raise AssertionError("a replay runs no tool")


class Remote(AbstractToolset[Any]):
    """Tools that only a server could list."""

    @property
    def id(self) -> str:
        return "remote"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        raise AssertionError("a replay asks no server for its tools")

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        raise AssertionError("a replay runs no tool")


def test_servers_are_not_asked_for_their_tools() -> None:
    local = FunctionToolset([pay])
    mixed = CombinedToolset([FunctionToolset([pay]), Remote()])
    reaching: Agent[Any, Any] = Agent(toolsets=[Remote(), local.prefixed("local"), mixed])

    async def told() -> tuple[Sequence[str], Asked]:
        async with replayer("test", None, reaching) as asker:
            seen = Seen(TextPart("yes"))
            return asker.left_out, await Replayer(seen.model(), None, reaching, asker.left_out).ask(
                {"input": "x"}, "no"
            )

    left_out, asked = asyncio.run(told())
    assert (list(left_out), asked.output) == (["remote", "CombinedToolset"], "yes")


@pytest.mark.parametrize(
    ("output_type", "part", "found"),
    [
        (int, output(response=3), 3),
        ([Choice, int], ToolCallPart("final_result_Choice", {"item": "tea"}), {"item": "tea"}),
        (NativeOutput(Choice), TextPart('{"item": "tea"}'), {"item": "tea"}),
        (str, TextPart("tea"), "tea"),
        (Choice, output(item=["no", "text"]), {"item": ["no", "text"]}),
        (Choice, ToolCallPart("final_result", "{broken"), "{broken"),
    ],
    ids=["a number", "one of two", "native", "text", "does not fit", "no JSON"],
)
def test_outputs_of_every_form(output_type: Any, part: Any, found: Any) -> None:
    seen = Seen(ThinkingPart("hm"), part)
    assert seen.ask({"input": "x"}, agent=agent(output_type=output_type)).output == found


@pytest.mark.parametrize("saved", [{"item": "tea", "deep": [{"amount": 1}]}, "text", 3, 2.5, True, ["a"]])
def test_without_an_agent_the_form_is_that_of_the_saved_answer(saved: Any) -> None:
    part = (
        TextPart(saved)
        if isinstance(saved, str)
        else output(**(saved if isinstance(saved, dict) else {"response": saved}))
    )
    seen = Seen(part)
    assert seen.ask({"input": "x"}, saved, prompt="Choose.").output == saved
    assert seen.instructions == "Choose."


def test_without_an_agent_and_a_prompt_a_workflows_decision_cannot_be_asked() -> None:
    with pytest.raises(Refused, match="--prompt"):
        Seen().ask({"input": "x"}, "y")


def turn(*messages: ModelMessage) -> dict[str, Any]:
    tool = ToolDefinition(name="refund", parameters_json_schema={"type": "object", "properties": {}})
    parameters = ModelRequestParameters(function_tools=[tool], instruction_parts=[InstructionPart("The old prompt.")])
    return {
        "messages": json.loads(json.dumps(plain_of(messages))),
        "params": {"request": to_jsonable_python(parameters), "settings": {"temperature": 0.5}},
    }


HISTORY = (
    ModelRequest(
        parts=[SystemPromptPart("The oldest prompt."), UserPromptPart("Hello.")], instructions="The old prompt."
    ),
    ModelResponse(parts=[TextPart("Hello, you.")]),
    ModelRequest(parts=[UserPromptPart("A refund, please.")], instructions="The old prompt."),
)


def words(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts]  # type: ignore[union-attr]


def test_a_turn_is_asked_as_it_was() -> None:
    seen = Seen(TextPart("So be it."), ToolCallPart("refund", '{"amount": 3}'))
    asked = seen.ask(turn(*HISTORY))
    assert asked.output == {"text": "So be it.", "tool_calls": [{"tool": "refund", "args": {"amount": 3}}]}
    ((messages, info),) = seen.asked
    assert words(messages) == ["The oldest prompt.", "Hello.", "Hello, you.", "A refund, please."]
    assert (seen.tools, info.model_settings, info.instructions) == (["refund"], {"temperature": 0.5}, "The old prompt.")


def test_a_turn_under_a_new_prompt() -> None:
    seen = Seen(TextPart("No."))
    seen.ask(turn(*HISTORY), prompt="The new prompt.")
    ((messages, _),) = seen.asked
    assert seen.instructions == "The new prompt."
    assert words(messages) == ["Hello.", "Hello, you.", "A refund, please."]


@pytest.mark.parametrize("prompt", [None, "The new prompt."])
def test_a_turn_asked_by_an_agent_keeps_the_tools_that_were_added(prompt: str | None) -> None:
    seen = Seen(TextPart("No."))
    asking = agent(output_type=str)
    asking.tool_plain(pay)
    seen.ask(turn(*HISTORY), agent=asking, prompt=prompt)
    ((messages, _),) = seen.asked
    assert seen.tools == ["pay", "refund"]
    assert words(messages)[-1] == "A refund, please."
    assert seen.instructions == (prompt or "The old prompt.")


def test_what_a_later_version_saved_is_left_out() -> None:
    asked = turn(*HISTORY)
    asked["params"]["request"]["of_a_later_version"] = True
    assert Seen(TextPart("No.")).ask(asked).output["text"] == "No."


def failing() -> Any:
    raise ConnectionError("nobody is there")


@pytest.mark.parametrize("known", [None, agent])
def test_what_the_model_raises_is_raised(known: Callable[[], Any] | None) -> None:
    def answered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return failing()

    asker = Replayer(FunctionModel(answered), "Choose.", None if known is None else known())
    with pytest.raises(ConnectionError, match="nobody is there"):
        asyncio.run(asker.ask({"input": "x"}, "y"))


@pytest.mark.parametrize(
    ("model", "known", "code"),
    [
        ("nobody:knows", None, "usage"),
        ("test", "no agent", "usage"),
        ("anthropic:claude-sonnet-4-5", None, "tool_missing"),
    ],
)
def test_who_cannot_be_asked_is_refused_at_once(model: str, known: Any, code: str) -> None:
    async def told() -> None:
        async with replayer(model, None, known):
            raise AssertionError("nobody is asked")

    with pytest.raises(Refused) as refused:
        asyncio.run(told())
    assert refused.value.code == code


def test_a_schema_that_the_value_fits() -> None:
    schema = schema_of({"a": [1], "b": [], "c": None, "d": {"e": True}})
    assert schema["required"] == ["a", "b", "c", "d"]
    assert schema["properties"]["a"] == {"type": "array", "items": {"type": "integer"}}
    assert (schema["properties"]["b"]["items"], schema["properties"]["c"]) == ({}, {})
    assert schema["properties"]["d"]["properties"] == {"e": {"type": "boolean"}}
