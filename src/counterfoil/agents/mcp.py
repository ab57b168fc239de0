"""A tool of an MCP server as an operation: its write is under the ledger, under a contract that is declared for it."""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from pydantic_ai.mcp import MCPToolset
from pydantic_core import to_jsonable_python

from counterfoil.engine.port import Call
from counterfoil.model.receipt import Receipt


class McpReceipt(Receipt):
    """`returned` is what the tool gave: its structured content, else its texts."""

    returned: Any = None


def mcp_tool(
    server: MCPToolset[Any],
    tool: str,
    payload: type[BaseModel],
    *,
    name: str | None = None,
    key_as: str | None = None,
    reference: Callable[[Any], str] | None = None,
) -> Callable[..., Any]:
    """The function of an operation that calls this tool of a server: `app.operation(...)(mcp_tool(server, "add_note", Note))`.

    In an agent that has the server, the tool is called through the operation, under whatever name the model sees it.
    The classifier reads status 200 with `{returned}`, or 400 with `{error}` where the server answers isError. `payload` are
    the tool's arguments. `name` is the operation's, the tool's if left out. `key_as` is the argument that carries the
    contract's key. `reference` reads the server's own number out of what the tool returned; without it, it is our operation id,
    which every call carries in its `_meta` as `counterfoil/operation-id`.
    """

    async def call_tool(call: Call, wanted: BaseModel) -> McpReceipt:
        arguments = wanted.model_dump(mode="json")
        # A session of its own: one that the server has lost says nothing of a write that never left.
        async with server.client.new() as client:
            sending = call.sending()
            told = await asyncio.to_thread(sending.__enter__)  # it waits for a commit
            try:
                given = arguments if key_as is None else arguments | {key_as: told.key}
                meta = {"counterfoil/operation-id": call.operation_id}
                result = await client.call_tool(tool, given, raise_on_error=False, meta=meta)
                returned = _returned(result.structured_content, result.content)
                told.reply(400, {"error": returned}) if result.is_error else told.reply(200, {"returned": returned})
            except BaseException as problem:
                sending.__exit__(type(problem), problem, problem.__traceback__)
                raise
            sending.__exit__(None, None, None)
        return McpReceipt(reference=call.operation_id if reference is None else reference(returned), returned=returned)

    call_tool.__name__ = call_tool.__qualname__ = name or tool
    call_tool.__module__ = payload.__module__
    call_tool.__doc__ = f"The tool {tool} of an MCP server."
    call_tool.__annotations__ = {"call": Call, "wanted": payload, "return": McpReceipt}
    call_tool.__counterfoil_mcp__ = (server, tool)  # type: ignore[attr-defined]
    return call_tool


def _returned(structured: dict[str, Any] | None, content: Any) -> Any:
    """As Pydantic AI gives it to a model: a lone `result` is unwrapped."""
    if structured is not None:
        return structured["result"] if structured.keys() == {"result"} else structured
    texts = [getattr(each, "text", None) or to_jsonable_python(each, serialize_unknown=True) for each in content]
    return texts[0] if len(texts) == 1 else texts
