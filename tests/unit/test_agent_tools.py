"""What an agent's tools say of themselves, before anything runs: what is refused at start, and what a crash does with each."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

from counterfoil import App, Budget, ReviewBy
from counterfoil.agents import DidNotHappen, agent_tool, reviewed, trusted
from counterfoil.agents.marked import runs_again
from counterfoil.model.errors import Refused
from tests.crash import tools

BUDGET = Budget(attempts=8, elapsed=timedelta(days=2), spend_usd=3, owner="lead")
MANAGER = ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead")


def refused(agent: Agent[Any, Any]) -> str:
    """The code with which an agent is refused at start."""
    with pytest.raises(Refused) as caught:
        App("start").agent("start", agent=agent, budget=BUDGET)
    return caught.value.code


def test_what_nobody_could_answer_is_refused_at_start() -> None:
    nobody = Agent(TestModel())
    nobody.tool_plain(requires_approval=True)(lone)
    assert refused(nobody) == "no_reviewer"
    outside = ExternalToolset([ToolDefinition(name="elsewhere")])
    assert refused(Agent(TestModel(), toolsets=[outside.prefixed("p")])) == "external_tool"
    other = ReviewBy(role="manager", expires_in=MANAGER.expires_in / 2, owner="lead")
    two = Agent(TestModel(), toolsets=[reviewed(FunctionToolset([agent_tool(review=MANAGER)(loan)]), other)])
    assert refused(two) == "two_reviews"


def test_a_toolset_may_name_who_approves() -> None:
    app = App("start")
    held = FunctionToolset([lone]).approval_required()
    app.agent("start", agent=Agent(TestModel(), toolsets=[reviewed(held, MANAGER)]), budget=BUDGET)
    operation = app.registry.operations["start_tool_manager"]
    assert operation.review == MANAGER


def lone(order: str) -> str:
    """Nobody is named who approves it."""
    return order


def loan(order: str) -> str:
    """Approved by one, in a toolset that another approves."""
    return order


def asked(operation_id: str, order: str) -> DidNotHappen:
    """Knows what a call did."""
    return DidNotHappen(f"{operation_id} {order}")


def kinds(app: App, name: str) -> dict[str, tuple[str, str | None]]:
    """By tool: its kind, and who reviews it."""
    return {row["tool"]: (row["kind"], row["review"]) for row in app.explain(name)["tools"]}


def test_what_a_crash_does_with_each_tool() -> None:
    app = App("explained")
    agent = Agent(
        TestModel(),
        toolsets=[
            FunctionToolset([_named("wire", resolve=asked)]),
            trusted(MCPToolset("http://127.0.0.1:9/a")).prefixed("a"),
            MCPToolset("http://127.0.0.1:9/b").prefixed("b"),
        ],
    )
    for tool in (_named("look", replay="safe"), _named("plan", replay="run"), _named("pay")):
        agent.tool_plain(tool)
    agent.tool_plain(requires_approval=True)(_named("grant", review=MANAGER))
    agent.tool_plain(_named("named"))
    inner = app.agent("inner", agent=Agent(TestModel()), budget=BUDGET)
    app.agent("outer", agent=agent, budget=BUDGET, safe=["named"], operations=[inner])
    assert kinds(app, "outer") == {
        "look": ("safe", None), "plan": ("run", None), "pay": ("undeclared", None), "grant": ("undeclared", "manager"),
        "named": ("safe", None), "wire": ("resolve", None), "a_*": ("trusted", None), "b_*": ("untrusted", None),
        "inner": ("agent", None),
    }  # fmt: skip
    rows = {row["tool"]: row["sentence"] for row in app.explain("outer")["tools"]}
    assert f"{asked.__module__}:asked is asked what it did" in rows["wire"]
    assert "manager lets these arguments pass, once" in rows["grant"]
    assert all(row["agent"] == "outer" for row in app.explain("outer")["tools"])


def test_a_server_whose_tool_is_an_operation() -> None:
    assert kinds(tools.app, "writer") == {"n_add_note": ("operation", None), "n_*": ("untrusted", None)}
    explained = tools.app.explain("tests.crash.tools:writer")
    assert [item["operation"] for item in explained["items"]] == ["add_note"]
    assert {row["agent"] for row in tools.app.explain()["tools"]} == set(tools.app.agents)


def _named(name: str, **declared: Any) -> Any:
    def tool(order: str) -> str:
        """A tool."""
        return order

    tool.__name__ = name
    return agent_tool(**declared)(tool) if declared else tool


@pytest.mark.parametrize(
    ("hints", "again"),
    [({}, False), ({"readOnlyHint": True}, True), ({"readOnlyHint": "yes"}, False), ({"idempotentHint": True}, False),
     ({"idempotentHint": True, "destructiveHint": True}, False), ({"idempotentHint": True, "destructiveHint": False}, True)],
)  # fmt: skip
def test_what_is_believed_of_a_server(hints: dict[str, Any], again: bool) -> None:
    assert runs_again(hints) is again
