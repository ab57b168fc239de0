"""What a tool says of itself: that it may run again, or how to find out what an interrupted call did. Silence means neither."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeVar

from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declared:
    """`replay` is safe where the tool may run again, and run where it is a part of the workflow, which does everything through
    the run. `resolve` is asked what an interrupted call did. `tries` of a safe tool."""

    replay: Literal["safe", "run"] | None = None
    resolve: Callable[..., Any] | None = None
    tries: int = 3
    pause: timedelta = timedelta(seconds=1)


_run: ContextVar[Run] = ContextVar("run_of_a_tool")


def current_run() -> Run:
    """The run that a tool with `replay="run"` belongs to. Raises Refused(outside_run) anywhere else."""
    found = _run.get(None)
    if found is None:
        raise Refused("outside_run")
    return found


def set_current_run(run: Run) -> None:
    """In the branch of a tool that is a part of the workflow, before it is called."""
    _run.set(run)


UNDECLARED_TOOL = Declared()
SAFE_TOOL = Declared(replay="safe")


def agent_tool(
    *, replay: Literal["safe", "run"] | None = None, resolve: Callable[..., Any] | None = None, tries: int = 3
) -> Callable[[F], F]:
    """Declare a tool. `replay="safe"`: it may run again after a crash, as a read may. `resolve`: see docs/agents.md.

    `replay="run"`: an async tool that is a part of the workflow. It runs again at every replay, and does everything through
    `current_run()`: steps, operations, timers, signals, documents, children.

    A tool without either runs once: interrupted, its outcome is unknown until a person or `resolve` says what happened.
    """

    def mark(function: F) -> F:
        function.__counterfoil_tool__ = Declared(replay, resolve, tries)  # type: ignore[attr-defined]
        return function

    return mark


def declared_in(toolset: AbstractToolset[Any], name: str) -> Declared:
    """What the function behind a tool's name declares, in whichever toolset it lies."""
    found: list[Declared] = []

    def look(leaf: AbstractToolset[Any]) -> None:
        if isinstance(leaf, FunctionToolset) and name in leaf.tools:
            marked = getattr(leaf.tools[name].function, "__counterfoil_tool__", None)
            found.extend([marked] if marked is not None else [])

    toolset.apply(look)
    return found[0] if found else UNDECLARED_TOOL
