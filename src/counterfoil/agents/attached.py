"""How a turn attaches to Pydantic AI: a model and a toolset wrapped around those that the agent has."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from counterfoil.agents.declared import SAFE_TOOL, Declared, declared_in
from counterfoil.agents.recorder import Recorder, Tool
from counterfoil.engine.definitions import Operation


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
    """Every call goes through the turn, as what the tool declares."""

    turn: Recorder
    known: "Known"

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return replace(self, wrapped=await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return replace(self, wrapped=await self.wrapped.for_run_step(ctx))

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        async def call() -> Any:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)

        response = next(message for message in reversed(ctx.messages) if isinstance(message, ModelResponse))
        part = Tool(self.known.declared(self.wrapped, name, tool), self.known.operations.get(name), call)
        return await self.turn.calls(name, tool_args, ctx.tool_call_id, response, part)


@dataclass(frozen=True)
class Known:
    """What the application says of tools by their names: operations, and those that may run again."""

    operations: Mapping[str, Operation[Any, Any]]
    safe: frozenset[str]

    def declared(self, toolset: AbstractToolset[Any], name: str, tool: ToolsetTool[Any]) -> Declared:
        """As the name says, else as the function does."""
        del tool
        return SAFE_TOOL if name in self.safe else declared_in(toolset, name)


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
