"""What a tool says of itself: that it may run again, or how to find out what an interrupted call did. Silence means neither."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeVar

from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declared:
    """`replay` is safe where the tool may run again. `resolve` is asked what an interrupted call did. `tries` of a safe tool."""

    replay: Literal["safe"] | None = None
    resolve: Callable[..., Any] | None = None
    tries: int = 3
    pause: timedelta = timedelta(seconds=1)


UNDECLARED_TOOL = Declared()
SAFE_TOOL = Declared(replay="safe")


def agent_tool(
    *, replay: Literal["safe"] | None = None, resolve: Callable[..., Any] | None = None, tries: int = 3
) -> Callable[[F], F]:
    """Declare a tool. `replay="safe"`: it may run again after a crash, as a read may. `resolve`: see docs/agents.md.

    A tool without it runs once: interrupted, its outcome is unknown until a person or `resolve` says what happened.
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
