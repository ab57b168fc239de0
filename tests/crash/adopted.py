"""The agents of tests/crash/existing.py made durable: one line each, and who approves what only a person may allow."""

from datetime import timedelta

from counterfoil import App, Budget, ReviewBy
from counterfoil.agents import agent_tool
from tests.crash.existing import Clerk, asking, discount, existing

app = App("adopted")
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="lead")
CLERK = Clerk("ana")

durable = app.agent("clerk", agent=existing, budget=BUDGET, deps=lambda: CLERK)

agent_tool(review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead"))(discount)
durable_asking = app.agent("asking", agent=asking, budget=BUDGET, deps=lambda: CLERK)
