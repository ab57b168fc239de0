"""A durable agent is killed at every boundary that its turn passes; what the receivers hold and the journal say decides."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.model.conversation import Turn
from counterfoil.model.run import RunRecord
from counterfoil.testing import Bench
from counterfoil.testing.bench import BenchRun, BenchSandbox, target_of
from counterfoil.testing.children import Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash import desk

REFUND = {"order": "o-1", "amount": 40}
SCRIPT: list[Any] = [
    [["look", {"order": "o-1"}], ["pay", {"order": "o-1", "amount": 5}]],
    [["refund", REFUND], ["refund_asked", {"order": "o-2", "amount": 7}]],
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
            reviews = self.bench.app.reviews.list(state="open")["items"]
            if not reviews:
                return stored
            await self.bench.approve(self.run, by="ana")
        raise AssertionError("it asks for ever")

    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.bench.app.evidence.entries(self.run.run_id, limit=1000)["items"]]

    def counted(self) -> dict[str, int]:
        kinds = self.kinds()
        return {
            "requests": len(lines(self.folder, "requests")),
            "decisions": kinds.count("decision"),
            "lost": kinds.count("lost"),
        }


async def played(folder: Path, children: Children, script: list[Any], crash_at: str | None) -> Played:
    bench = await Bench(desk.app, folder, children=children).__aenter__()
    crm = await bench.sandbox("crm", kind="key")
    run = await bench.submit(desk.desk.workflow, Turn(text=json.dumps(script)), request_id="r-1", crash_at=crash_at)
    return Played(folder, bench, crm, run)


def test_a_turn_that_nobody_disturbs(tmp_path: Path, servers: Children, bank: SandboxProcess) -> None:
    async def body() -> None:
        turn = await played(tmp_path, servers, SCRIPT, None)
        stored = await turn.driven()
        print(turn.kinds())
        assert (stored.state, stored.result) == ("completed", '"All is done."')
        assert len(turn.crm.records) == 2 and len(bank.records()) == 1
        assert turn.counted() == {"requests": 3, "decisions": 3, "lost": 0}
        await turn.bench.__aexit__(None, None, None)

    asyncio.run(body())
