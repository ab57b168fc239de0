"""A durable agent: an agent of Pydantic AI, registered as a workflow whose runs are its turns."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version as version_of
from typing import Any, Optional, Union, cast, get_origin

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset
from pydantic_core import to_json

from counterfoil.agents.attached import Attached, Known
from counterfoil.agents.context import begin_turn
from counterfoil.agents.explained import called_by, check_tools, lies_in, servers_of, tools_of
from counterfoil.agents.marked import given_as
from counterfoil.agents.recorder import Asking, Recorder
from counterfoil.agents.talk import compact_after, talk_of
from counterfoil.agents.turn_settings import settings_of_turn
from counterfoil.agents.undeclared import Undeclared
from counterfoil.engine.asking import Versions
from counterfoil.engine.call_perform import payload_type
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.budget import Budget
from counterfoil.model.conversation import Turn, TurnKind
from counterfoil.model.errors import Refused

TOOL_LONGEST = timedelta(minutes=10)


@dataclass(frozen=True)
class DurableAgent:
    """Registered by `app.agent`. `workflow` is what its turns run; `undeclared` what its undeclared tools are called through.

    `tools` says what a crash does with each of its tools, `called` which names its turns can call, where code tells.
    """

    name: str
    workflow: Workflow[Turn, Any]
    undeclared: Undeclared
    tools: Callable[[], list[dict[str, Any]]]
    called: Callable[[], frozenset[str] | None]


def durable_agent(
    name: str,
    agent: Agent[Any, Any],
    *,
    version: int,
    budget: Budget,
    versions: Versions,
    operations: Sequence["Operation[Any, Any] | DurableAgent"],
    safe: frozenset[str],
    deps: Callable[[], Any] | None,
) -> DurableAgent:
    """Wrap an agent. It is not changed: it may go on being run by itself.

    Raises Refused: agent_library_too_old; no_reviewer, two_reviews, external_tool, for what its code shows.
    """
    check_library()
    undeclared = Undeclared(name, budget.owner, TOOL_LONGEST)
    known = Known(undeclared, safe, servers_of(operations))
    check_tools(agent, known)
    shown = [each for each in operations if not lies_in(agent, known, each)]
    asking = Asking(name, versions)

    async def turn(run: EmbeddedRun, given: Turn) -> Any:
        talk = await asyncio.to_thread(talk_of, run.execution)
        settings = await settings_of_turn(run.execution, talk.settings)
        recorded = Recorder(run, replace(asking, revision=talk.revision), undeclared)
        begin_turn(run.execution)
        run.execution.lineage = () if talk.revision is None else talk.revision.lineage
        if talk.kind is TurnKind.COMPACTION:
            await recorded.compacts(agent, talk.history, settings.get("model"))
            return None
        before = recorded.begins_with(talk.history)
        await run.message("user", given.text)
        result = await agent.run(
            given.text,
            message_history=before or None,
            model=settings.get("model"),
            deps=deps() if deps is not None else None,
            toolsets=[_toolset(shown)] if shown else None,
            capabilities=[Attached(recorded, known, run.id)],
            conversation_id=given.conversation or run.id,
            infer_name=False,
        )
        await run.message("agent", result.output if isinstance(result.output, str) else to_json(result.output).decode())
        limit = settings.get("compact_after")
        await compact_after(run.execution, durable, talk.conversation, limit, recorded.context_tokens)
        return result.output

    turn.__annotations__["return"] = Optional[output_type_of(agent)]  # noqa: UP045 - None is what a compaction gives
    turn.__name__ = turn.__qualname__ = name
    durable = DurableAgent(
        name,
        Workflow(name, version, turn, budget),
        undeclared,
        lambda: tools_of(agent, known, shown),
        lambda: called_by(agent, known, operations),
    )
    return durable


def check_library() -> None:
    """An older library would call the model and the tools past us, and say nothing."""
    for name in ("get_wrapper_model", "get_wrapper_toolset", "before_model_request"):
        if not hasattr(AbstractCapability, name):
            raise Refused("agent_library_too_old", found=version_of("pydantic-ai-slim"), missing=name)


def output_type_of(agent: Agent[Any, Any]) -> Any:
    """The type of a turn's result: what each choice gives, or their union; Any where a function makes it."""
    types = _chosen(agent.output_type)
    if not all(isinstance(each, type) or get_origin(each) is not None for each in types):
        return Any
    return cast(Any, Union[tuple(types)])  # noqa: UP007


def _chosen(spec: Any) -> list[Any]:
    """The types that an output is chosen from; a marker names one, or several."""
    if isinstance(spec, list | tuple):
        return [each for one in cast("list[Any]", spec) for each in _chosen(one)]
    marked = getattr(spec, "output", None) or getattr(spec, "outputs", None)
    return [spec] if marked is None else _chosen(marked)


def _toolset(given: Sequence[Operation[Any, Any] | DurableAgent]) -> FunctionToolset[Any]:
    """The operations as tools: the model writes the payload, the ledger performs it. Another agent: it writes what is said."""
    return FunctionToolset([_tool(each) if isinstance(each, Operation) else _asked(each) for each in given])


def _tool(operation: Operation[Any, Any]) -> Tool[Any]:
    payload = payload_type(operation)

    async def planned(payload: Any) -> None:
        raise AssertionError("an operation is performed by the turn")

    planned.__annotations__ = {"payload": payload, "return": None}
    described = (operation.function.__doc__ or "").strip() or None
    return Tool(given_as(planned, operation), takes_ctx=False, name=operation.name, description=described)


def _asked(other: DurableAgent) -> Tool[Any]:
    async def planned(text: str) -> None:
        raise AssertionError("another agent's turn is a run of its own")

    described = f"Ask the agent {other.name}, and hear its answer. It knows nothing but this text."
    return Tool(given_as(planned, other.workflow), takes_ctx=False, name=other.name, description=described)
