"""A durable agent beside the same agent of plain Pydantic AI, in one run; and what a long conversation costs."""

from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.counting import stored_bytes
from benchmarks.figures import PLAIN_AGENT, Ratio, Suite, alternating, row
from benchmarks.plan import Plan
from benchmarks.workload import PERSON, count_of, drive, in_loop, opened
from counterfoil.agents import agent_tool
from counterfoil.agents.history import history_of
from counterfoil.agents.messages import messages_of
from counterfoil.app import App
from counterfoil.engine.following import turns_before
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
    long = in_loop(_long(plan))
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


MESSAGES = 2000  # of a long conversation: half of them the user's, half the model's


async def _long(plan: Plan) -> Suite:
    """Bytes written by a message, and seconds to put the history together again: over the first half, and over all of it."""
    turns = plan.sized(MESSAGES // 2, least=20)
    model = FunctionModel(
        lambda messages, info: ModelResponse(parts=[TextPart(f"answer {len(messages)}: " + "a" * 200)])
    )
    with plan.folder() as folder, opened(App("agents"), folder) as app:
        app.agent("talk", agent=Agent(model, output_type=str), budget=BUDGET)
        marks: list[tuple[int, float]] = []
        for number in range(turns):
            await app.conversations.send(
                f"question {number}: " + "q" * 200, conversation="long", request_id=f"m-{number}", agent="talk"
            )
            await drive(app)
            if number + 1 in (turns // 4, turns // 2, turns):
                marks.append((_bytes(folder), _resumed(app)))
        (quarter, _), (half, half_seconds), (all_, all_seconds) = marks
    # Two messages a turn: half the turns' messages lie between the first two marks, all of them between the last two.
    first, second = 2 * (half - quarter) / turns, (all_ - half) / turns
    return Suite(
        [
            row("agent", "bytes_a_message_early", "B", [first]),
            row("agent", "bytes_a_message_late", "B", [second]),
            row("agent", f"resume_{turns}_messages", "ms", [1000 * half_seconds]),
            row("agent", f"resume_{2 * turns}_messages", "ms", [1000 * all_seconds]),
        ],
        [
            Ratio("bytes_a_message_late_to_early_at_most", second / first, 1.2),
            Ratio("resume_of_twice_the_messages_at_most", all_seconds / half_seconds, 2.6),
        ],
    )


def _bytes(folder: Path) -> int:
    """What the database holds, and the artifacts beside it."""
    kept = folder / "db" / "bench.db.artifacts"
    return stored_bytes(folder) + sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())


def _resumed(app: App) -> float:
    """Seconds to read the history that the next turn would begin with; the best of three."""
    opened_ = app.open()
    with opened_.read() as reader:
        (conversation,) = reader.lists.conversations(limit=1).items
        before = [*turns_before(reader, conversation.head_run_id or ""), conversation.head_run_id or ""]
    times: list[float] = []
    for _ in range(3):
        began = perf_counter()
        messages_of(history_of(opened_, before))
        times.append(perf_counter() - began)
    return min(times)
