"""A durable agent beside the same agent of plain Pydantic AI, in one run; and one long conversation."""

from datetime import timedelta
from time import perf_counter
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.figures import PLAIN_AGENT, Ratio, Suite, alternating, row
from benchmarks.plan import Plan
from benchmarks.suites.long_talk import long_talk
from benchmarks.workload import PERSON, count_of, drive, in_loop, opened
from counterfoil.agents import agent_tool
from counterfoil.app import App
from counterfoil.model.budget import Budget
from counterfoil.model.conversation import Turn
from counterfoil.model.run import RunState

BUDGET = Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=1, owner=PERSON)
ANSWERS = 10  # of the model in a turn: each but the last calls one tool


def agent(plan: Plan) -> Suite:
    """Milliseconds that durability adds to an answer of the model with one tool call, by what the tool declares."""
    rows, ratios = [], []
    turns = plan.sized(20, least=2)
    for tool in ("safe", "undeclared"):
        asked = _agent(tool)
        with plan.folder() as folder, opened(App("agents"), folder) as app:
            durable = app.agent("desk", agent=asked, budget=BUDGET)

            def plain(number: int, asked: Agent[None, str] = asked) -> float:
                return in_loop(_plain(asked, turns))

            def recorded(number: int, app: App = app, workflow: Any = durable.workflow) -> float:
                return in_loop(_recorded(app, workflow, turns, f"{number}"))

            floor, ours = alternating(plan.rounds, plain, recorded)
        answers = turns * ANSWERS
        rows.append(
            row(
                "agent",
                f"answer_with_{tool}_tool",
                "ms",
                [1000 * each / answers for each in floor],
                system=PLAIN_AGENT,
            )
        )
        rows.append(row("agent", f"answer_with_{tool}_tool", "ms", [1000 * each / answers for each in ours]))
        added = [1000 * (mine - theirs) / answers for mine, theirs in zip(ours, floor, strict=True)]
        ratios.append(Ratio(f"added_ms_by_{tool}_tool_at_most", sorted(added)[len(added) // 2], LIMITS_MS[tool]))
    long = in_loop(long_talk(plan))
    return Suite([*rows, *long.rows], [*ratios, *long.ratios])


LIMITS_MS = {"safe": 25.0, "undeclared": 50.0}  # two commits and a step's; and the operation's, with the marker's flush


def _agent(tool: str) -> Agent[None, str]:
    """A model that answers at once, and calls `look` in each answer but the last."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        n = sum(isinstance(message, ModelResponse) for message in messages)
        if n == ANSWERS - 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("look", {"order": f"o-{n}"}, f"call-{n}")])

    made = Agent(FunctionModel(answer), output_type=str)

    async def look(order: str) -> str:
        return f"{order}: one chair"

    made.tool_plain(agent_tool(replay="safe")(look) if tool == "safe" else look)
    return made


async def _plain(asked: Agent[None, str], turns: int) -> float:
    began = perf_counter()
    for _ in range(turns):
        await asked.run("go on")
    return perf_counter() - began


async def _recorded(app: App, workflow: Any, turns: int, prefix: str) -> float:
    """One turn after the other, as the plain ones."""
    total, before = 0.0, count_of(app, RunState.COMPLETED)
    for number in range(turns):
        await app.submit(workflow, Turn(text="go on"), request_id=f"{prefix}-{number}")
        total += await drive(app)
    assert count_of(app, RunState.COMPLETED) == before + turns, "every turn ends completed"
    return total
