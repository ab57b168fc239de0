"""How a turn attaches to Pydantic AI: a model and a toolset wrapped around those that the agent has."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from counterfoil.agents.called import Tool
from counterfoil.agents.declared import UNDECLARED_TOOL
from counterfoil.agents.marked import Mark, Server, listed
from counterfoil.agents.recorder import Recorder
from counterfoil.agents.undeclared import Undeclared


class RecordedModel(WrapperModel):
    """Every request is a decision of the turn: the saved one, or one that is saved before it is given."""

    def __init__(self, wrapped: Model, turn: Recorder) -> None:
        super().__init__(wrapped)
        self._turn = turn

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        return await self._turn.asks(self.wrapped, messages, model_settings, model_request_parameters)


@dataclass
class RecordedToolset(WrapperToolset[Any]):
    """Every call goes through the turn, as what the tool is. `marks` are of the tools that were listed last."""

    turn: Recorder
    known: "Known"
    marks: dict[str, Mark] = field(default_factory=lambda: {})

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return replace(self, wrapped=await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return replace(self, wrapped=await self.turn.reaches("tools", lambda: self.wrapped.for_run_step(ctx)))

    async def __aenter__(self) -> Self:
        await self.turn.reaches("tools", self.wrapped.__aenter__)
        return self

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        known = self.known
        tools, marks = await self.turn.reaches("tools", lambda: listed(self.wrapped, ctx, known.safe, known.servers))
        self.marks.update(marks)
        for name, mark in marks.items():
            known.undeclared.learns(name, mark.declared)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        async def call(*, approved: bool = False) -> Any:
            within = replace(ctx, tool_call_approved=True) if approved else ctx
            return await self.wrapped.call_tool(name, tool_args, within, tool)

        response = next(message for message in reversed(ctx.messages) if isinstance(message, ModelResponse))
        mark = self.marks.get(name) or Mark(UNDECLARED_TOOL)
        return await self.turn.calls(name, tool_args, ctx.tool_call_id, response, Tool(mark, call))


@dataclass(frozen=True)
class Known:
    """What the application says of tools: by their names, that they may run again; by server and name, that they are operations."""

    undeclared: Undeclared
    safe: frozenset[str]
    servers: Sequence[Server]


@dataclass
class Attached(AbstractCapability[Any]):
    """One turn's capability. Outermost: what others wrap inside runs when the model or the tool really runs."""

    turn: Recorder
    known: Known
    run_id: str

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="outermost")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    def get_default_run_id(self) -> str:
        return self.run_id

    def get_wrapper_model(self, model: Model) -> Model:
        return RecordedModel(model, self.turn)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return RecordedToolset(toolset, self.turn, self.known)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        for sentence in await self.turn.news():
            ctx.enqueue(sentence)
        return request_context
