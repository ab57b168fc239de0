"""Ask another model, or under another prompt, what was asked before: one request a decision, and nothing acts on the answer.

The answer is taken where the model gives it, before anything of the agent sees it: no tool is run, no output function,
no validator, no hook. What the model wants to call is data.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai import Agent, StructuredDict
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import InstructionPart, ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from counterfoil.agents.answered import comparable, schema_of
from counterfoil.agents.messages import messages_of
from counterfoil.agents.usage import cost_of
from counterfoil.engine.call_decide import prompt_of
from counterfoil.model.errors import Refused


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back: the output in the saved one's form, the usage, and the cost in micro-USD where a price is known."""

    output: Any
    usage: dict[str, int]
    cost_micros: int | None


class _Taken(Exception):
    """The answer is here, and the agent that asked does not get it."""


class OneRequest(WrapperModel):
    """Passes one request on, keeps the answer, and gives it to nobody."""

    def __init__(self, wrapped: Model, more: ModelRequestParameters | None) -> None:
        super().__init__(wrapped)
        self._more = more
        self.answer: tuple[ModelResponse, ModelRequestParameters] | None = None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if self.answer is None:
            parameters = _with_tools_of(self._more, model_request_parameters)
            self.answer = await self.wrapped.request(messages, model_settings, parameters), parameters
        raise _Taken


def _with_tools_of(saved: ModelRequestParameters | None, now: ModelRequestParameters) -> ModelRequestParameters:
    """Also the tools that were there then and that the agent by itself does not have: operations, as a rule."""
    if saved is None:
        return now
    known = {tool.name for tool in now.function_tools}
    return replace(now, function_tools=[*now.function_tools, *(t for t in saved.function_tools if t.name not in known)])


@dataclass(frozen=True)
class Replayer:
    """Asks one model. `prompt` takes the place of the instructions; `agent` says what its agent would ask now.

    `left_out`: toolsets of the agent that only a server can list; they are not offered to the model.
    """

    model: Model
    prompt: str | None
    agent: Agent[Any, Any] | None
    left_out: Sequence[str] = ()

    async def ask(self, inputs: dict[str, Any], saved: Any) -> Asked:
        """The answer to one case. Raises whatever the model raises, and Refused(usage) where the case is not enough to ask."""
        response, parameters = await self._answer(inputs, saved)
        usage = {
            "requests": 1,
            "input_tokens": response.usage.input_tokens,
            "output_tokens": response.usage.output_tokens,
        }
        turn = "messages" in inputs
        output = comparable(response, parameters, turn=turn, output_type=getattr(self.agent, "output_type", None))
        return Asked(output, usage, cost_of(response))

    async def _answer(self, inputs: dict[str, Any], saved: Any) -> tuple[ModelResponse, ModelRequestParameters]:
        params: dict[str, Any] = inputs.get("params") or {}
        then = parameters_of(params["request"]) if "request" in params else None
        messages = _unprompted(messages_of(inputs["messages"]), self.prompt) if "messages" in inputs else None
        if "instructions" in inputs:  # a compaction: neither the agent's prompt nor its tools are in it
            asker = replace(self, prompt=None, left_out=())
            return await asker._by_agent(Agent(instructions=inputs["instructions"]), inputs, None, None)
        if self.agent is not None:
            return await self._by_agent(self.agent, inputs, messages, then)
        if messages is None:
            return await self._by_agent(self._stand_in(saved), inputs, None, None)
        parameters = then or ModelRequestParameters()
        if self.prompt is not None:
            parameters = replace(parameters, instruction_parts=[InstructionPart(self.prompt)])
        settings = cast("ModelSettings | None", params.get("settings"))
        return await self.model.request(messages, settings, parameters), parameters

    def _stand_in(self, saved: Any) -> Agent[Any, Any]:
        """A workflow's decision keeps neither its instructions nor the form of its output: the prompt is given, the form is
        that of what was answered."""
        if self.prompt is None:
            raise Refused(
                "usage", problem="a workflow's decision is asked anew with --agent MODULE:AGENT, or with --prompt FILE"
            )
        schema = schema_of(saved)
        if schema.get("type") == "object":
            return Agent(output_type=StructuredDict(schema, name="answer"))
        plain: dict[str, Any] = {"boolean": bool, "integer": int, "number": float, "array": list[Any]}
        return Agent(output_type=plain.get(schema.get("type", ""), str))

    async def _by_agent(
        self,
        agent: Agent[Any, Any],
        inputs: dict[str, Any],
        messages: list[ModelMessage] | None,
        then: ModelRequestParameters | None,
    ) -> tuple[ModelResponse, ModelRequestParameters]:
        model = OneRequest(self.model, then)
        with ExitStack() as stack:
            if self.prompt is not None:
                stack.enter_context(agent.override(instructions=self.prompt))
            if self.left_out:
                stack.enter_context(agent.override(toolsets=[each for each in agent.toolsets[1:] if _is_local(each)]))
            prompt = None if messages is not None else prompt_of(inputs["input"])
            try:
                await agent.run(prompt, model=model, message_history=messages, infer_name=False)
            except Exception:
                if model.answer is None:
                    raise
        assert model.answer is not None, "a run without a request has no result"
        return model.answer


@asynccontextmanager
async def replayer(model: str, prompt: str | None, agent: Any) -> AsyncGenerator[Replayer]:
    """A Replayer with the model's connections open. Raises Refused(usage, tool_missing)."""
    if agent is not None and not isinstance(agent, Agent):
        raise Refused("usage", problem=f"--agent names a {type(agent).__name__}, and not an agent of Pydantic AI")
    known = cast("Agent[Any, Any] | None", agent)
    outside = [] if known is None else [_named(each) for each in known.toolsets[1:] if not _is_local(each)]
    try:
        found = infer_model(model)
    except ImportError as problem:
        raise Refused(
            "tool_missing", tool=f"The package that {model} is asked through", install=str(problem)
        ) from problem
    except UserError as problem:
        raise Refused("usage", problem=f"{model!r} cannot be asked: {problem}") from problem
    async with found:
        yield Replayer(found, prompt, known, tuple(outside))


def parameters_of(plain: dict[str, Any]) -> ModelRequestParameters:
    """The parameters of a request as they were saved; what this version of Pydantic AI does not know is left out."""
    return TypeAdapter(ModelRequestParameters).validate_python(plain)


def _unprompted(messages: list[ModelMessage], prompt: str | None) -> list[ModelMessage]:
    """Under a new prompt, without what the old one said."""
    if prompt is None:
        return messages
    return [
        replace(message, parts=[part for part in message.parts if not isinstance(part, SystemPromptPart)])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]


def _is_local(toolset: AbstractToolset[Any]) -> bool:
    """Whether its tools are functions at hand; anything else would have to ask a server what there is."""
    leaves: list[AbstractToolset[Any]] = []
    toolset.apply(leaves.append)
    return all(isinstance(leaf, FunctionToolset) for leaf in leaves)


def _named(toolset: AbstractToolset[Any]) -> str:
    return str(toolset.id or type(toolset).__name__)
