"""The ledger in a graph of LangGraph, or in an agent of LangChain: `pip install 'counterfoil[langgraph]'`.

The graph's checkpoints say where it is; the ledger says what was written outside. A node that runs again asks for the same
operation, and hears the receipt.
"""

from counterfoil.integrations.langgraph.guarded import holding_thread
from counterfoil.integrations.langgraph.middleware import LedgerMiddleware, current_identity, ledger_tool_node
from counterfoil.integrations.langgraph.tools import ledger_tools

__all__ = ["LedgerMiddleware", "current_identity", "holding_thread", "ledger_tool_node", "ledger_tools"]
