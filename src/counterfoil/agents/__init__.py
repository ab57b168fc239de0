"""The durable agent: an agent of Pydantic AI under the ledger, with its conversations. Loaded when it is first used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.agents.agent import DurableAgent
    from counterfoil.agents.context import working_context
    from counterfoil.agents.declared import DidNotHappen, Happened, agent_tool, current_run
    from counterfoil.agents.marked import reviewed, trusted
    from counterfoil.agents.mcp import McpReceipt, mcp_tool
    from counterfoil.agents.turn_settings import conversation_settings

__all__ = [
    "DidNotHappen", "DurableAgent", "Happened", "McpReceipt", "agent_tool", "conversation_settings", "current_run",
    "mcp_tool", "reviewed", "trusted", "working_context",
]  # fmt: skip

_HOMES = {
    "DurableAgent": "agent", "agent_tool": "declared", "current_run": "declared", "Happened": "declared",
    "DidNotHappen": "declared", "reviewed": "marked", "trusted": "marked",
    "McpReceipt": "mcp", "mcp_tool": "mcp", "conversation_settings": "turn_settings", "working_context": "context",
}  # fmt: skip


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"counterfoil.agents.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
