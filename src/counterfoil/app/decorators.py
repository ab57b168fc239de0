"""What `app.operation` and `app.workflow` take and give, so that a payload's and a result's type travel on."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, overload

from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.engine.port import Call, Run

P = TypeVar("P")
R = TypeVar("R")
I = TypeVar("I")
O = TypeVar("O")


class OperationDecorator(Protocol):
    """From a function of a call and one payload, async or plain, to an operation."""

    # The async form first: a coroutine function also fits the second, with its coroutine as the receipt.
    @overload
    def __call__(self, function: Callable[[Call, P], Coroutine[Any, Any, R]], /) -> Operation[P, R]: ...
    @overload
    def __call__(self, function: Callable[[Call, P], R], /) -> Operation[P, R]: ...


class WorkflowDecorator(Protocol):
    """From an async function of a run and one input to a workflow."""

    def __call__(self, function: Callable[[Run, I], Coroutine[Any, Any, O]], /) -> Workflow[I, O]: ...
