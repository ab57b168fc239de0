"""What a tool says of itself: that it may run again, who is asked first, or how to find out what an interrupted call did."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeVar

from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewBy

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declared:
    """`replay` is safe where the tool may run again, and run where it is a part of the workflow, which does everything through
    the run. `resolve` is asked what an interrupted call did. `review` is asked where Pydantic AI asks for an approval.
    `tries` and `pause` are of a safe tool."""

    replay: Literal["safe", "run"] | None = None
    resolve: Callable[..., Any] | None = None
    review: ReviewBy | None = None
    tries: int = 3
    pause: timedelta = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Happened:
    """An interrupted call did happen: the receiver's `reference` for it, and what the call would have `returned`."""

    reference: str
    returned: Any = None


@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """An interrupted call did not happen, and can no longer: `reason` says how that is known."""

    reason: str


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
    *,
    replay: Literal["safe", "run"] | None = None,
    resolve: Callable[..., Any] | None = None,
    review: ReviewBy | None = None,
    tries: int = 3,
) -> Callable[[F], F]:
    """Declare a tool. `replay="safe"`: it may run again after a crash, as a read may.

    `replay="run"`: an async tool that is a part of the workflow. It runs again at every replay, and does everything through
    `current_run()`: steps, operations, timers, signals, documents, children.

    A tool without either runs once: interrupted, its outcome is unknown until a person or `resolve` says what happened.
    `resolve(operation_id, **arguments)`, async or plain, gets the arguments as JSON and gives Happened, DidNotHappen, or None as
    long as it cannot tell: it is asked again, with growing pauses. `review`: who approves a call where Pydantic AI asks for an
    approval.
    """

    def mark(function: F) -> F:
        function.__counterfoil_tool__ = Declared(replay, resolve, review, tries)  # type: ignore[attr-defined]
        return function

    return mark


def declared_by(function: Any) -> Declared:
    """What a function declares; silence is UNDECLARED_TOOL."""
    marked: Declared | None = getattr(function, "__counterfoil_tool__", None)
    return marked or UNDECLARED_TOOL
