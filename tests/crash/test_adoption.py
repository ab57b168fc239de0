"""An agent that exists is made durable by one line: killed anywhere it answers as it does alone, and alone it stays what it was."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage

from counterfoil.agents.history import history_of
from counterfoil.agents.messages import plain_of, said
from counterfoil.model.conversation import Turn
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.testing import Bench
from counterfoil.testing.bench import SECRET, BenchRun
from counterfoil.testing.bench_child import drive
from counterfoil.testing.children import Children
from tests.crash import adopted, existing
from tests.crash.rows import row

ASKED = "What can we offer for o-1?"
# Where no tool is at work: nothing is uncertain, so nobody is asked.
QUIET = (
    "run.claimed", "decision.asked", "before:decision.accepted#2", "decision.accepted", "decision.accepted#3",
    "before:operation.in_flight", "operation.classified", "decision.asked#5", "decision.accepted#5", "before:run.finished",
)  # fmt: skip


@pytest.fixture(scope="module")
def forks() -> Iterator[Children]:
    with Children("tests.crash.adopted:app") as forked:
        yield forked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the agent notes what happens, in whatever process it is."""
    monkeypatch.setenv("EXISTING_FOLDER", str(tmp_path))
    return tmp_path


@asynccontextmanager
async def benched(folder: Path, forks: Children) -> AsyncGenerator[Bench]:
    async with Bench(adopted.app, folder, children=forks) as bench:
        yield bench


async def submitted(bench: Bench, agent: Any, crash_at: str | None = None, request_id: str = "r-1") -> BenchRun:
    return await bench.submit(agent.workflow, Turn(text=ASKED), request_id=request_id, crash_at=crash_at)


async def alone() -> tuple[str, list[Any]]:
    """What the agent answers without us, and all that was said."""
    result = await existing.existing.run(ASKED, deps=adopted.CLERK)
    assert isinstance(result.output, existing.Offer)
    return result.output.model_dump_json(), compared(result.all_messages())


def compared(messages: list[ModelMessage]) -> list[Any]:
    return [said(message) for message in plain_of(messages)]


def recorded(bench: Bench, run: BenchRun) -> tuple[str | None, list[Any]]:
    """The same of a turn, from its record."""
    return bench.stored(run).result, [said(message) for message in history_of(bench.app.open(), [run.run_id], of="")]


def lines(folder: Path, name: str) -> list[Any]:
    file = folder / name
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def operations(bench: Bench, run: BenchRun) -> list[OperationRecord]:
    with bench.app.open().read() as reader:
        return reader.find(OperationRecord, "run_id", run.run_id)


def kinds(bench: Bench, run: BenchRun) -> list[str]:
    return [entry["kind"] for entry in bench.app.evidence.entries(run.run_id, limit=1000)["items"]]


@row("deciding", "asking", "ending")
@pytest.mark.parametrize("point", QUIET)
def test_killed_it_answers_as_it_does_alone(folder: Path, forks: Children, point: str) -> None:
    async def body() -> None:
        plain = await alone()
        assert plain[0] == '{"order":"o-1","cents":3600}'
        before = {name: len(lines(folder, name)) for name in ("questions", "orders", "stocks")}
        async with benched(folder, forks) as bench:
            run = await submitted(bench, adopted.durable, point)
            assert (await bench.drive(run)).state == "completed" and run.crashes == [9]
            assert recorded(bench, run) == plain
            found = kinds(bench, run)
            assert found.count("decision") == 5 == before["questions"], "as many as alone"
            asked = lines(folder, "questions")[before["questions"] :]
            assert len(asked) - found.count("lost") <= 5 <= len(asked)
            assert {each["instructions"] for each in asked} == {"You work for ana."}
            tools = {name: len(lines(folder, name)) - before[name] for name in ("orders", "stocks")}
            assert tools == {"orders": 2, "stocks": 1}, "each call once"

    asyncio.run(body())


@row("undeclared")
@pytest.mark.parametrize("point", ["operation.in_flight", "before:operation.classified"])
def test_killed_in_a_tool_a_person_says_what_happened(folder: Path, forks: Children, point: str) -> None:
    async def body() -> None:
        plain = await alone()
        async with benched(folder, forks) as bench:
            run = await submitted(bench, adopted.durable, point)
            assert (await bench.drive(run)).reason == "interrupted_tool"
            (unknown,) = [each for each in operations(bench, run) if each.status is OperationStatus.UNKNOWN]
            await bench.app.operations.resolve(
                unknown.operation_id, as_="failed", reason="It only reads.", evidence="its code",
                expect_version=unknown.version, by="oscar", secret=SECRET,
            )  # fmt: skip
            assert (await bench.drive(run)).state == "completed" and run.crashes == [9]
            assert recorded(bench, run)[0] == plain[0]

    asyncio.run(body())


@row("review")
@pytest.mark.parametrize(
    ("asks", "approved"), [("review.opened", None), ("run.waiting", None), (None, "operation.classified")]
)
def test_what_it_defers_is_a_review(folder: Path, forks: Children, asks: str | None, approved: str | None) -> None:
    """Alone it ends with what waits for an approval, and is run again with it; durable it is one turn."""

    async def body() -> None:
        deferred = await existing.asking.run(ASKED, deps=adopted.CLERK)
        assert isinstance(deferred.output, DeferredToolRequests)
        (call,) = deferred.output.approvals
        plain = await existing.asking.run(
            deps=adopted.CLERK,
            message_history=deferred.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals={call.tool_call_id: True}),
        )
        assert isinstance(plain.output, existing.Offer) and len(lines(folder, "discounts")) == 1
        async with benched(folder, forks) as bench:
            run = await submitted(bench, adopted.durable_asking, asks)
            await bench.approve(run, by="ana")
            run.crash_at = approved
            assert (await bench.drive(run)).state == "completed" and run.crashes == [9]
            assert recorded(bench, run) == (plain.output.model_dump_json(), compared(plain.all_messages()))
            assert len(lines(folder, "discounts")) == 2

    asyncio.run(body())


def test_it_is_still_run_alone(folder: Path, forks: Children) -> None:
    """Before, after and beside a durable turn in the same process."""

    async def body() -> None:
        before = await alone()
        async with benched(folder, forks) as bench:
            run = await submitted(bench, adopted.durable)
            beside, _ = await asyncio.gather(alone(), drive(bench.app, run.run_id))
            assert recorded(bench, run) == before == beside
            entries = kinds(bench, run)
            assert await alone() == before and kinds(bench, run) == entries, "alone it writes nothing"
            assert len(bench.app.runs.list()["items"]) == 1

    asyncio.run(body())
