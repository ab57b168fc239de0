"""Operations as tools of LangChain. Only the ledger's record lets one pass: what a graph is resumed with is never read."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.types import interrupt

from counterfoil.engine.blocking import blocking
from counterfoil.engine.call_perform import payload_adapter
from counterfoil.engine.definitions import Operation
from counterfoil.integrations.outcome import Outcome, outcome_of
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app.application import App

KEY = "counterfoil"  # where an interrupt says what it waits for
call_identity: ContextVar[str | None] = ContextVar("call_identity", default=None)


def ledger_tools(app: "App", operations: Sequence[Operation[Any, Any]]) -> list[BaseTool]:
    """A tool for each operation, for a model to be bound to. They run only under `LedgerMiddleware` or `ledger_tool_node`."""
    return [_tool(app, operation) for operation in operations]


def _tool(app: "App", operation: Operation[Any, Any]) -> BaseTool:
    def performed(**arguments: Any) -> str:
        while True:
            outcome = blocking(outcome_of(app, operation, arguments, _identity(operation)))
            if outcome.waits is None:
                return _said(outcome)
            wait(outcome.waits)

    async def performed_async(**arguments: Any) -> str:
        while True:
            outcome = await outcome_of(app, operation, arguments, _identity(operation))
            if outcome.waits is None:
                return _said(outcome)
            wait(outcome.waits)

    schema = payload_adapter(operation).json_schema()
    described = (operation.function.__doc__ or "").strip() or operation.name
    return StructuredTool(
        name=operation.name, description=described, args_schema=schema, func=performed,
        coroutine=performed_async, handle_tool_error=True,
    )  # fmt: skip


def wait(waits: dict[str, Any]) -> None:
    """Leave the graph until it is resumed. With what, does not matter: whoever was left asks the ledger again."""
    interrupt({KEY: waits})


def _identity(operation: Operation[Any, Any]) -> str:
    identity = call_identity.get()
    if identity is None:
        raise Refused("no_identity", parts=f"the call of {operation.name}")
    return identity


def _said(outcome: Outcome) -> str:
    if outcome.refused is not None:
        raise ToolException(outcome.refused)
    return compact(outcome.receipt)
