"""The durable agent: an agent of Pydantic AI under the ledger, with its conversations. Loaded when it is first used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.agents.agent import DurableAgent
    from counterfoil.agents.declared import agent_tool, current_run

__all__ = ["DurableAgent", "agent_tool", "current_run"]

_HOMES = {"DurableAgent": "agent", "agent_tool": "declared", "current_run": "declared"}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"counterfoil.agents.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
