"""The ledger in an agent of Pydantic AI that is run by itself, or under another durable engine.

It is an ordinary capability: it stores nothing of the run, so it sits beside Temporal, DBOS, Prefect or Restate durability.
For an agent whose whole turn is on record use `app.agent` instead.
"""

from counterfoil.integrations.pydantic_ai.capability import Counterfoil, call_identity

__all__ = ["Counterfoil", "call_identity"]
