"""Agents whose model calls one tool twice, where a budget pays for one call of that name; each use is noted outside."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import App, Budget, Call, Contract, Receipt, SharedBudget, When
from counterfoil.agents import agent_tool, current_run
from counterfoil.testing.fake_clock import FakeClock
from tests.crash.spending import FREE, REQUEST, Spent, founded

app = App("nothing yet")  # what the fork server is started with; each child makes its own

TOOLS = ("safe", "undeclared", "operation", "run", "agent", "mcp")
SCOPES = ("run", "conversation", "workflow", "business_day", "operation")
CALLED = {"mcp": "n_add_note"}  # as the model knows it; else `spender`
DIES_AT = {
    "safe": "after:call.drawn", "run": "after:call.drawn", "agent": "after:child.started",
    "undeclared": "after:operation.classified", "mcp": "after:operation.classified", "operation": "after:operation.classified",
}  # fmt: skip


class Number(BaseModel):
    number: int


def name_of(tool: str) -> str:
    return CALLED.get(tool, "spender")


def _asks_twice(tool: str) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        n = sum(isinstance(message, ModelResponse) for message in messages)
        text = {"text": str(n)}
        given: dict[str, Any] = {"agent": text, "mcp": text | {"order": "o-1"}}.get(tool, {"number": n})
        return ModelResponse(parts=[TextPart("done") if n == 2 else ToolCallPart(name_of(tool), given, f"call-{n}")])

    return answer


def _spender(made: App, tool: str, spent: Spent, agent: Agent[Any, Any]) -> list[Any]:
    """Give the agent its tool. What is left is given to it as an operation."""

    def noted(number: int) -> str:
        spent.note(str(number))
        return f"spent {number}"

    def spender(number: int) -> str:
        """Spend."""
        return noted(number)

    async def part(number: int) -> str:
        """Spend, as a part of the workflow."""
        return await current_run().step(noted, number)

    part.__name__ = "spender"
    match tool:
        case "safe":
            agent.tool_plain(agent_tool(replay="safe")(spender))
        case "undeclared":
            agent.tool_plain(spender)
        case "run":
            agent.tool_plain(agent_tool(replay="run")(part))
        case "operation":
            return [_operation(made, spent)]
        case "agent":
            other = Agent(FunctionModel(lambda messages, info: _noted(spent)), output_type=str)
            return [made.agent("spender", agent=other, budget=Budget(**FREE, owner="lead"))]
        case _:
            pass
    return []


def _noted(spent: Spent) -> ModelResponse:
    spent.note("agent")
    return ModelResponse(parts=[TextPart("spent")])


def _operation(made: App, spent: Spent) -> Any:
    made.receiver("bank", url="http://127.0.0.1:9", environment="test")
    contract = Contract(
        api_version="1",
        classifier=[When(status=200).means("applied")],
        duplicate="costly",
        procedure="Count the lines.",
    )

    @made.operation(receiver="bank", contract=contract, business_key="number", owner="lead")
    def spender(call: Call, wanted: Number) -> Receipt:
        """Spend, under the ledger."""
        with call.sending() as told:
            spent.note(str(wanted.number))
            told.reply(200, {})
        return Receipt(reference=call.operation_id)

    return spender


def application(folder: Path, tool: str, scope: str, *, later: int = 0) -> App:
    """An agent `desk`, and what it calls. Of its tool there is one call in `scope`, of all else more than enough."""
    made = App("spending", db=str(folder / "db" / "spending.db"))
    made.clock = FakeClock(1_800_000_000_000_000 + later * 1_000_000)
    spent = Spent(folder)
    # The server notes its calls in the same file.
    sets = [MCPToolset(os.environ["MCP_URL"]).prefixed("n")] if tool == "mcp" else []
    agent = Agent(FunctionModel(_asks_twice(tool)), output_type=str, toolsets=sets)
    given = _spender(made, tool, spent, agent)
    limit: dict[str, Any] = {"calls": {name_of(tool): 1}}
    own = Budget(**FREE | (limit if scope == "run" else {}), owner="lead")
    made.agent("desk", agent=agent, budget=own, operations=given)
    if scope != "run":
        made.budget(SharedBudget(name="shared", scope=scope, owner="ops", **limit))  # type: ignore[arg-type]
    return made


def lives(fork: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """A child: it is killed in its first call."""
    del fork, say
    os.environ["COUNTERFOIL_CRASH_AT"] = DIES_AT[arguments["tool"]]
    made = application(Path(arguments["folder"]), arguments["tool"], arguments["scope"])
    founded(made)

    async def living() -> None:
        await made.conversations.send("spend", conversation="one", request_id=REQUEST, agent="desk")
        await made.new_worker().run()

    asyncio.run(living())
