"""`LedgerMiddleware` for agents of LangChain, and `ledger_tool_node` for graphs of one's own."""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import Token
from typing import TYPE_CHECKING, Any, cast

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from counterfoil.engine.definitions import Operation
from counterfoil.integrations.langgraph.guarded import check_thread
from counterfoil.integrations.langgraph.tools import call_identity, ledger_tools, wait
from counterfoil.integrations.outcome import identity_of, waiting
from counterfoil.model.errors import Refused, Unresolved

if TYPE_CHECKING:
    from counterfoil.app.application import App

Answer = Any  # a ToolMessage or a Command


class LedgerMiddleware(AgentMiddleware[Any, Any, Any]):
    """Give `operations` to the model as tools. The model is asked, and a tool called, only while the thread is held and each
    step is kept: `with holding_thread(app, config): agent.invoke(..., config, durability="sync")`.

    A call in doubt, or in review, interrupts the graph; whatever it is resumed with only wakes it. Tools of one's own that
    call `app.ledger.perform` by `current_identity()` interrupt it in the same way.
    """

    def __init__(self, app: "App", operations: Sequence[Operation[Any, Any]] = ()) -> None:
        super().__init__()
        self.tools = ledger_tools(app, operations)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        check_thread()
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        check_thread()
        return await handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        return called(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        return await called_async(request, handler)


def ledger_tool_node(app: "App", operations: Sequence[Operation[Any, Any]], tools: Sequence[BaseTool] = ()) -> ToolNode:
    """A node for the calls of these operations, and of other tools beside them, under the same rules as `LedgerMiddleware`."""
    return ToolNode([*ledger_tools(app, operations), *tools], wrap_tool_call=called, awrap_tool_call=called_async)


def called(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
    """One call under its identity. Raises Refused: not_durable, thread_not_held, no_identity."""
    token, identity = _begun(request)
    try:
        while True:
            try:
                return handler(request)
            except Unresolved as doubt:
                wait(waiting(doubt, identity))
    finally:
        call_identity.reset(token)


async def called_async(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]) -> Answer:
    """As `called`."""
    token, identity = _begun(request)
    try:
        while True:
            try:
                return await handler(request)
            except Unresolved as doubt:
                wait(waiting(doubt, identity))
    finally:
        call_identity.reset(token)


def _begun(request: ToolCallRequest) -> tuple[Token[str | None], str]:
    """The thread, the message that planned the call, the tool and the call's id, which a resumed or repeated node has again: they
    stand in its checkpoint. The id of the call alone would not do: there are models that number their calls anew each time."""
    call = request.tool_call
    identity = identity_of(
        "langgraph", check_thread(), _planned_by(request.state, call["id"]), call["name"], call["id"]
    )
    return call_identity.set(identity), identity


def _planned_by(state: Any, call_id: str | None) -> str | None:
    """The id of the newest message with this call, which LangGraph gives to whatever it adds to a graph's messages."""
    given = (
        cast("dict[str, Any]", state).get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    )
    messages = cast("list[Any]", given) if isinstance(given, list) else []
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return message.id
    return None


def current_identity() -> str:
    """Inside a tool of one's own: the identity to perform by. Raises Refused(no_identity) outside the middleware or the node."""
    identity = call_identity.get()
    if identity is None:
        raise Refused("no_identity", parts="the call")
    return identity
