"""A durable agent is killed at every boundary that its turn passes; what the receivers hold and the journal say decides."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from counterfoil.model.codec import canonical, digest_of
from counterfoil.model.conversation import Turn
from counterfoil.model.run import RunRecord
from counterfoil.testing import Bench
from counterfoil.testing.bench import SECRET, BenchRun, BenchSandbox, target_of
from counterfoil.testing.children import Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash import desk

REFUND, ASKED, PAY = {"order": "o-1", "amount": 40}, {"order": "o-2", "amount": 7}, {"order": "o-1", "amount": 5}
ELSEWHERE = {"worker.seen", "lease.renewed", "installation.changed"}
# What the first worker passes until the review, and the second one from the approval on.
FIRST = {
    "run.claimed": 1, "record.appended": 1, "decision.asked": 2, "decision.accepted": 2, "operation.prepared": 3,
    "step.ended": 1, "operation.in_flight": 2, "marker.flushed": 2, "operation.first_byte": 2, "operation.replied": 2,
    "operation.classified": 2, "proposal.made": 2, "review.opened": 1, "run.waiting": 1,
}  # fmt: skip
SECOND = {
    "run.claimed": 1, "operation.in_flight": 1, "marker.flushed": 1, "operation.first_byte": 1, "operation.replied": 1,
    "operation.classified": 1, "decision.asked": 1, "decision.accepted": 1, "record.appended": 1, "run.finished": 1,
}  # fmt: skip
INTERRUPTING = {
    f"{point}#1" for point in ("after:operation.in_flight", "before:marker.flushed", "after:marker.flushed",
    "before:operation.first_byte", "after:operation.first_byte", "before:operation.replied", "after:operation.replied",
    "before:operation.classified")
}  # fmt: skip
SCRIPT: list[Any] = [
    [["look", {"order": "o-1"}], ["pay", PAY]],
    [["refund", REFUND], ["refund_asked", ASKED]],
    "All is done.",
]


@pytest.fixture(scope="module")
def servers() -> Iterator[Children]:
    with Children(target_of(desk.app)) as forks:
        yield forks


@pytest.fixture(autouse=True)
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxProcess]:
    monkeypatch.setenv("DESK_FOLDER", str(tmp_path))
    with SandboxProcess("none") as process:
        monkeypatch.setenv("DESK_BANK", process.url)
        yield process


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Played:
    """One turn, driven to its end under one crash."""

    def __init__(self, folder: Path, bench: Bench, crm: BenchSandbox, run: BenchRun) -> None:
        self.folder, self.bench, self.crm, self.run = folder, bench, crm, run

    async def driven(self) -> RunRecord:
        for _ in range(9):
            stored = await self.bench.drive(self.run)
            if not self.asked():
                return stored
            await self.bench.approve(self.run, by="ana")
        raise AssertionError("it asks for ever")

    def asked(self) -> list[dict[str, Any]]:
        """The reviews that are open."""
        items: list[dict[str, Any]] = self.bench.app.reviews.list(state="open")["items"]
        return items

    def kinds(self) -> list[str]:
        """Of the entries of the run."""
        return [entry["kind"] for entry in self.bench.app.evidence.entries(self.run.run_id, limit=1000)["items"]]

    def balanced(self) -> dict[str, int]:
        """Requests that reached the model, decisions, and calls counted as lost; none of them is unaccounted for."""
        kinds = self.kinds()
        counts = {
            "requests": len(lines(self.folder, "requests")),
            "decisions": kinds.count("decision"),
            "lost": kinds.count("lost"),
        }
        asked = kinds.count("asked")
        assert asked == counts["decisions"] + counts["lost"], kinds
        assert counts["decisions"] <= counts["requests"] <= asked, counts  # a lost call may have died before it left
        return counts

    def all_happened_once(self, bank: SandboxProcess) -> None:
        """Each intended effect is there once, and nothing else."""
        stored = self.bench.stored(self.run)
        assert (stored.state, stored.result) == ("completed", '"All is done."')
        assert digests(self.crm.process) == sorted(digest(wanted) for wanted in (REFUND, ASKED))
        assert digests(bank) == [digest(PAY)]
        assert self.balanced()["decisions"] == 3

    async def resolved(self, as_: str) -> None:
        """A person looks at the bank, and says what is there."""
        (operation,) = self.bench.app.operations.list(status="unknown")["items"]
        assert operation["reason"] == "interrupted_tool"
        await self.bench.app.operations.resolve(
            operation["operation_id"], as_=as_, reference="seen-at-the-bank" if as_ == "succeeded" else None,
            reason="Looked at the bank.", evidence="its list", expect_version=operation["version"], by="oscar", secret=SECRET,
        )  # fmt: skip


def digest(payload: dict[str, Any]) -> str:
    return digest_of(canonical(payload, where="a test"))


def digests(process: SandboxProcess) -> list[str]:
    """Of the bodies that the receiver holds."""
    return sorted(str(record["payload_digest"]) for record in process.records())


@asynccontextmanager
async def played(
    folder: Path, servers: Children, script: list[Any], crash_at: str | None = None
) -> AsyncGenerator[Played]:
    async with Bench(desk.app, folder, children=servers) as bench:
        crm = await bench.sandbox("crm", kind="key")
        run = await bench.submit(desk.desk.workflow, Turn(text=json.dumps(script)), request_id="r-1", crash_at=crash_at)
        yield Played(folder, bench, crm, run)


def test_a_turn_that_nobody_disturbs(tmp_path: Path, servers: Children, bank: SandboxProcess) -> None:
    async def body() -> None:
        async with played(tmp_path, servers, SCRIPT) as turn:
            stored = await turn.driven()
            assert stored.state == "completed"
            turn.all_happened_once(bank)
            assert turn.balanced() == {"requests": 3, "decisions": 3, "lost": 0}

    asyncio.run(body())


def test_the_points_are_those_that_it_passes(tmp_path: Path, servers: Children) -> None:
    async def body() -> None:
        async with played(tmp_path, servers, SCRIPT) as turn:
            for expected in (FIRST, SECOND):
                child = turn.bench.start_worker(turn.run.run_id, work="tests.crash.desk:hits")
                await asyncio.to_thread(child.wait)
                met = {name: times for name, times in child.said[0].items() if name not in ELSEWHERE}
                assert met == expected | {"review.opened": met.get("review.opened")} if expected is FIRST else expected
                if turn.asked():
                    await turn.bench.approve(turn.run, by="ana")

    asyncio.run(body())


def points(passed: dict[str, int]) -> list[str]:
    """Each boundary, as often as it is passed, before and after."""
    return [
        f"{when}:{name}#{n + 1}" for name, times in passed.items() for n in range(times) for when in ("before", "after")
    ]


@pytest.mark.parametrize("point", points(FIRST))
def test_killed_on_the_way_to_the_review(tmp_path: Path, servers: Children, bank: SandboxProcess, point: str) -> None:
    async def body() -> None:
        async with played(tmp_path, servers, SCRIPT, point) as turn:
            stored = await turn.driven()
            assert turn.run.crashes == [9]
            if point not in INTERRUPTING:
                turn.all_happened_once(bank)
                return
            # Nobody knows whether `pay` acted. The model heard so at once, and planned two writes: both are held.
            assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
            assert turn.crm.records == [] and turn.balanced() == {"requests": 2, "decisions": 2, "lost": 0}
            assert "outcome is unknown" in str(lines(tmp_path, "requests")[-1])
            happened = len(bank.records()) == 1
            assert happened is (point.partition(":")[2] in ("operation.replied#1", "operation.classified#1"))
            await turn.resolved("succeeded" if happened else "failed")
            assert (await turn.driven()).state == "completed"
            heard = str(lines(tmp_path, "requests")[-1]["heard"])
            assert heard.count("planned before this was known") == 2
            assert ("has happened; its reference is seen-at-the-bank" in heard) is happened
            assert turn.crm.records == [] and len(bank.records()) == happened
            assert turn.balanced()["decisions"] == 3

    asyncio.run(body())


@pytest.mark.parametrize("point", points(SECOND))
def test_killed_from_the_approval_on(tmp_path: Path, servers: Children, bank: SandboxProcess, point: str) -> None:
    async def body() -> None:
        async with played(tmp_path, servers, SCRIPT) as turn:
            await turn.bench.approve(turn.run, by="ana")
            turn.run.crash_at = point
            assert (await turn.driven()).state == "completed"
            assert turn.run.crashes == [9]
            turn.all_happened_once(bank)

    asyncio.run(body())
