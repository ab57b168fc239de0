"""What `explain` says of the tools that a function makes: what it makes here and now, without a server and without a turn."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset

from counterfoil import App, Budget
from counterfoil.agents import agent_tool
from counterfoil.examples.support_desk import app as desk

BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="lead")


def rows(app: App, name: str) -> dict[str, dict[str, Any]]:
    return {row["tool"]: row for row in app.explain(name)["tools"]}


def kinds(app: App, name: str) -> dict[str, str]:
    return {tool: row["kind"] for tool, row in rows(app, name).items()}


OF_THE_DESK = {"read_order": "safe", "read_customer": "safe", "create_refund": "operation", "send_email": "operation"}


def test_the_support_desk_with_its_notes_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and not asked: nothing listens there."""
    monkeypatch.setenv("NOTES_URL", "http://127.0.0.1:9/mcp")
    assert kinds(desk.app, "support") == OF_THE_DESK | {"*": "trusted"}


def test_the_support_desk_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTES_URL", raising=False)
    assert kinds(desk.app, "support") == OF_THE_DESK | {"*": "dynamic"}
    assert "counterfoil.examples.support_desk.app:notes" in rows(desk.app, "support")["*"]["sentence"]


def test_what_is_said_of_a_server_names_what_there_is() -> None:
    app = App("explained")
    agent = Agent(TestModel())

    @agent.toolset
    def servers(ctx: RunContext[object]) -> Any:
        from pydantic_ai.mcp import MCPToolset

        return MCPToolset("http://127.0.0.1:9/mcp").prefixed("n")

    app.agent("asker", agent=agent, budget=BUDGET)
    (row,) = app.explain("asker")["tools"]
    assert (row["tool"], row["kind"]) == ("n_*", "untrusted")
    assert "`app.operation(...)(mcp_tool(...))`" in row["sentence"]


def test_tools_that_a_function_makes_and_functions_that_make_none() -> None:
    app = App("explained")
    agent = Agent(TestModel(), deps_type=int)

    @agent_tool(replay="safe")
    def look() -> str:
        """Look."""
        return "seen"

    def pay() -> str:
        """Pay."""
        return "paid"

    @agent.toolset
    def made(ctx: RunContext[int]) -> FunctionToolset[int]:
        return FunctionToolset([look, pay])

    @agent.toolset
    async def later(ctx: RunContext[int]) -> FunctionToolset[int]:
        return FunctionToolset([look])

    @agent.toolset
    def needs_deps(ctx: RunContext[int]) -> FunctionToolset[int]:
        assert ctx.deps + 1
        return FunctionToolset([look])

    app.agent("maker", agent=agent, budget=BUDGET)
    told = app.explain("maker")["tools"]
    assert [(row["tool"], row["kind"]) for row in told] == [
        ("look", "safe"), ("pay", "undeclared"), ("*", "dynamic"), ("*", "dynamic"),
    ]  # fmt: skip
    assert "later" in told[2]["sentence"] and "needs_deps" in told[3]["sentence"]
    assert app.agents["maker"].called() is None, "another turn may be made other tools"
