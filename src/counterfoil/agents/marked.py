"""What each tool of an agent's toolsets is, found where the tool lies: its name may be prefixed and its toolset wrapped."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, ToolsetTool, WrapperToolset

from counterfoil.agents.declared import SAFE_TOOL, UNDECLARED_TOOL, Declared, declared_by
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewBy

F = TypeVar("F", bound=Callable[..., Any])

# Keys of a tool definition's metadata on its way out; none of them reaches the model.
_TRUSTED, _REVIEW, _MARK = "counterfoil_trusted", "counterfoil_review", "counterfoil_mark"

Given = Operation[Any, Any] | Workflow[Turn, Any]
Server = tuple[
    AbstractToolset[Any], str, Operation[Any, Any]
]  # an MCP server, its name for a tool, and what that is called through


@dataclass(frozen=True, slots=True)
class Mark:
    """What a listed tool is: what it declares, whether it needs an approval, and what it is called through: an operation, or
    another agent's workflow. `payload` is the argument that holds an operation's payload; None: they are the payload."""

    declared: Declared
    approval: bool = False
    through: Given | None = None
    payload: str | None = None


def given_as(function: F, through: Given) -> F:
    """Mark the function of a tool that the application gave: it stands for this operation, or for this agent."""
    function.__counterfoil_given__ = through  # type: ignore[attr-defined]
    return function


@dataclass
class Trusted(WrapperToolset[Any]):
    """Its servers are believed: see `trusted`."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return _noted(await self.wrapped.get_tools(ctx), lambda name, tool: {_TRUSTED: True})


@dataclass
class Reviewed(WrapperToolset[Any]):
    """Its approvals are answered so: see `reviewed`."""

    review: ReviewBy

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return _noted(await self.wrapped.get_tools(ctx), lambda name, tool: {_REVIEW: self.review})


def trusted(toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
    """Believe what this MCP server says of its tools: one with `readOnlyHint`, or with `idempotentHint` where
    it also says that `destructiveHint` is false, may run again after a crash. Of any other server these hints say nothing."""
    return Trusted(toolset)


def reviewed(toolset: AbstractToolset[Any], review: ReviewBy) -> AbstractToolset[Any]:
    """Whoever approves a call of these tools where Pydantic AI asks for an approval."""
    return Reviewed(toolset, review)


@dataclass
class _Found(WrapperToolset[Any]):
    """A toolset that holds tools itself, while they are listed."""

    servers: Sequence[Server]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return _noted(await self.wrapped.get_tools(ctx), self._found)

    def _found(self, name: str, tool: ToolsetTool[Any]) -> dict[str, Any]:
        held = getattr(tool, "original_name", None) or name
        if isinstance(self.wrapped, FunctionToolset):
            tools = self.wrapped.tools
            return {_MARK: _mark_of(tools[held].function)} if held in tools else {}
        found = [operation for server, own, operation in self.servers if server is self.wrapped and own == name]
        return {_MARK: Mark(UNDECLARED_TOOL, through=found[0])} if found else {}


def _mark_of(function: Any) -> Mark:
    through: Given | None = getattr(function, "__counterfoil_given__", None)
    return Mark(declared_by(function), through=through, payload="payload" if isinstance(through, Operation) else None)


async def listed(
    toolset: AbstractToolset[Any], ctx: RunContext[Any], safe: frozenset[str], servers: Sequence[Server]
) -> tuple[dict[str, ToolsetTool[Any]], dict[str, Mark]]:
    """The tools of a toolset as the model sees them, and what each of them is. One that asks for an approval is called as any
    other: our review lets it pass. Raises Refused(external_tool)."""
    found = await toolset.visit_and_replace(lambda leaf: _Found(leaf, servers)).get_tools(ctx)
    marks = {name: _mark(name, tool, safe) for name, tool in found.items()}
    return {name: _plain(tool) for name, tool in found.items()}, marks


def _mark(name: str, tool: ToolsetTool[Any], safe: frozenset[str]) -> Mark:
    definition, noted = tool.tool_def, tool.tool_def.metadata or {}
    if definition.kind == "external":
        raise Refused("external_tool", tool=name)
    mark: Mark = noted.get(_MARK) or Mark(UNDECLARED_TOOL)
    declared = mark.declared
    if name in safe or (noted.get(_TRUSTED) and runs_again(noted.get("annotations") or {})):
        declared = replace(SAFE_TOOL, review=declared.review)
    if declared.review is None and noted.get(_REVIEW) is not None:
        declared = replace(declared, review=noted[_REVIEW])
    return replace(mark, declared=declared, approval=definition.kind == "unapproved")


def runs_again(hints: Mapping[str, Any]) -> bool:
    """Whether an MCP tool says of itself that a second run does no harm. A destructive one is what says nothing of it."""
    return hints.get("readOnlyHint") is True or (
        hints.get("idempotentHint") is True and hints.get("destructiveHint") is False
    )


def _plain(tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
    definition = tool.tool_def
    noted = {key: value for key, value in (definition.metadata or {}).items() if not key.startswith("counterfoil_")}
    kind = "function" if definition.kind == "unapproved" else definition.kind
    return replace(tool, tool_def=replace(definition, kind=kind, metadata=noted or None))


def _noted(
    tools: dict[str, ToolsetTool[Any]], notes: Callable[[str, ToolsetTool[Any]], dict[str, Any]]
) -> dict[str, ToolsetTool[Any]]:
    def with_notes(name: str, tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
        metadata = (tool.tool_def.metadata or {}) | notes(name, tool)
        return replace(tool, tool_def=replace(tool.tool_def, metadata=metadata))

    return {name: with_notes(name, tool) for name, tool in tools.items()}


@dataclass(frozen=True, slots=True)
class Held:
    """A toolset that holds tools itself, with what is wrapped around it: whether it is trusted, who reviews, its prefixes."""

    toolset: AbstractToolset[Any]
    trusted: bool = False
    review: ReviewBy | None = None
    prefix: str = ""

    @property
    def is_mcp(self) -> bool:
        module: Any = sys.modules.get("pydantic_ai.mcp")  # where it was never loaded, nothing is a server
        return module is not None and isinstance(self.toolset, module.MCPToolset)


def held_in(toolset: AbstractToolset[Any], around: Held | None = None) -> Iterator[Held]:
    """Every toolset that an agent names, as far as its code shows: one that a function makes is not seen."""
    around = around or Held(toolset)
    if isinstance(toolset, CombinedToolset):
        for each in toolset.toolsets:
            yield from held_in(each, around)
    elif isinstance(toolset, WrapperToolset):
        if isinstance(toolset, Trusted):
            around = replace(around, trusted=True)
        elif isinstance(toolset, Reviewed):
            around = replace(around, review=around.review or toolset.review)
        prefix: str | None = getattr(toolset, "prefix", None)
        if prefix is not None:
            around = replace(around, prefix=f"{around.prefix}{prefix}_")
        yield from held_in(toolset.wrapped, around)
    else:
        yield replace(around, toolset=toolset)
