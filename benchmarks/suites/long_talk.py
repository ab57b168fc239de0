"""One conversation that grows turn by turn: what a message costs on disk and in time, and what it takes to go on with a turn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.counting import stored_bytes
from benchmarks.figures import PLAIN_AGENT, Ratio, Row, Suite, row
from benchmarks.plan import Plan
from benchmarks.workload import PERSON, drive, opened
from counterfoil.agents import agent_tool, current_run
from counterfoil.agents.history import history_of
from counterfoil.agents.messages import messages_of
from counterfoil.app import App
from counterfoil.engine.following import turns_before
from counterfoil.model.budget import Budget
from counterfoil.model.run import RunState

MESSAGES = 2000  # half of them the user's, half the model's; what is looked at in between adds a dozen each time
LOOKS = 3  # how often each thing is measured at a mark
LAST = 10  # turns whose time stands for a turn at a mark
BUDGET = Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=1, owner=PERSON)
WAITS = "wait"


class Go(BaseModel):
    """What a waiting turn goes on with."""


@dataclass(slots=True)
class Mark:
    """What was found when the conversation had so many messages. Seconds, but for `bytes` and `messages`."""

    messages: int
    bytes: int
    a_message: float  # of all turns since the mark before
    turn: float
    plain: list[float] = field(default_factory=lambda: [])
    read: list[float] = field(default_factory=lambda: [])
    resumed: list[float] = field(default_factory=lambda: [])


async def long_talk(plan: Plan) -> Suite:
    """Bytes and seconds at a quarter, at half and at all of it."""
    with plan.folder() as folder, opened(App("agents"), folder) as app:
        return _found(await _Talk(app, folder).grown(plan.sized(MESSAGES // 2, least=20)))


class _Talk:
    def __init__(self, app: App, folder: Path) -> None:
        self._app, self._folder = app, folder
        self._agent = _agent()
        app.agent("talk", agent=self._agent, budget=BUDGET)
        self._sent = 0

    async def grown(self, turns: int) -> list[Mark]:
        marks: list[Mark] = []
        seconds: list[float] = []
        since = 0
        for number in range(1, turns + 1):
            await self._send(f"question {number}: " + "q" * 200)
            seconds.append(await drive(self._app))
            if number in (turns // 4, turns // 2, turns):
                mark = Mark(2 * number, _bytes(self._folder), fmean(seconds[since:]) / 2, median(seconds[-LAST:]))
                since = number
                await self._looked_at(mark)
                marks.append(mark)
        return marks

    async def _looked_at(self, mark: Mark) -> None:
        for _ in range(LOOKS):
            history, seconds = self._history()
            mark.read.append(seconds)
            with _timed(mark.plain):
                await self._agent.run("question: " + "q" * 200, message_history=history)
            mark.resumed.append(await self._resumed())

    def _history(self) -> tuple[list[ModelMessage], float]:
        """What the next turn would begin with, and the seconds to read it: which turns, what they say, as messages."""
        opened_ = self._app.open()
        began = perf_counter()
        with opened_.read() as reader:
            (conversation,) = reader.lists.conversations(limit=1).items
            newest = conversation.head_run_id or ""
            before = [*turns_before(reader, newest), newest]
        return messages_of(history_of(opened_, before, of="")), perf_counter() - began

    async def _resumed(self) -> float:
        """A turn whose worker is gone while a tool waits; the seconds of a new worker from its claim to the turn's end."""
        run_id = await self._send(WAITS)
        await drive(self._app)
        await self._app.signal(run_id, "go", Go(), signal_id="go")
        seconds = await drive(self._app)
        with self._app.open().read() as reader:
            assert reader.lists.runs(state=RunState.WAITING.value, limit=1).items == [], "it went on"
        return seconds

    async def _send(self, text: str) -> str:
        self._sent += 1
        given = {"conversation": "long", "request_id": f"m-{self._sent}", "agent": "talk"}
        return (await self._app.conversations.send(text, **given))["run_id"]


def _agent() -> Agent[None, str]:
    """It answers at once; told to wait, it calls a tool that waits."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        newest = messages[-1].parts[-1]
        if isinstance(newest, UserPromptPart) and newest.content == WAITS:
            return ModelResponse(parts=[ToolCallPart("wait", {}, f"call-{len(messages)}")])
        return ModelResponse(parts=[TextPart(f"answer {len(messages)}: " + "a" * 200)])

    made = Agent(FunctionModel(answer), output_type=str)

    @made.tool_plain
    @agent_tool(replay="run")
    async def wait() -> str:
        await current_run().wait_for("go", Go, within=timedelta(hours=1))
        return "went on"

    return made


def _found(marks: list[Mark]) -> Suite:
    _, half, all_ = marks
    rows: list[Row] = []
    for mark in marks:
        many = mark.messages
        rows += [
            row("agent", f"bytes_a_message_of_{many}", "B", [mark.bytes / many]),
            row("agent", f"ms_a_message_to_{many}", "ms", [1000 * mark.a_message]),
            row("agent", f"turn_at_{many}_messages", "ms", [1000 * mark.turn]),
            row("agent", f"turn_at_{many}_messages", "ms", _ms(mark.plain), system=PLAIN_AGENT),
            row("agent", f"read_{many}_messages", "ms", _ms(mark.read)),
            row("agent", f"resumed_turn_at_{many}_messages", "ms", _ms(mark.resumed)),
        ]
    return Suite(
        rows,
        [
            Ratio("bytes_a_message_late_to_early_at_most", _between(half, all_) / _between(marks[0], half), 1.2),
            Ratio("read_of_twice_the_messages_at_most", min(all_.read) / min(half.read), 2.6),
            Ratio("resumed_with_twice_the_messages_at_most", min(all_.resumed) / min(half.resumed), 2.6),
            Ratio("turn_with_all_messages_to_plain_at_most", all_.turn / median(all_.plain), 4.0),
        ],
    )


def _between(first: Mark, second: Mark) -> float:
    """Bytes a message of those that came between two marks."""
    return (second.bytes - first.bytes) / (second.messages - first.messages)


def _ms(seconds: list[float]) -> list[float]:
    return [1000 * each for each in seconds]


@contextmanager
def _timed(into: list[float]) -> Iterator[None]:
    began = perf_counter()
    yield
    into.append(perf_counter() - began)


def _bytes(folder: Path) -> int:
    """What the database holds, and the artifacts beside it."""
    kept = folder / "db" / "bench.db.artifacts"
    return stored_bytes(folder) + sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
