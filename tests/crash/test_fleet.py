"""Worker processes on one PostgreSQL: killed, frozen and told to end; the receiver's own records are counted."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from counterfoil.engine.clock import SystemClock
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.fleet import Fleet, FleetWorker
from tests.crash.fleet_application import app
from tests.crash.shipping import Shipped, ledger, receivers, submit, until_accounted, weighed
from tests.servers.postgres import shared

Held = dict[str, SandboxProcess]


@pytest.fixture(scope="module")
def held() -> Iterator[Held]:
    with receivers() as made:
        yield made


@pytest.fixture
def fleet(tmp_path: Path, held: Held) -> Iterator[Fleet]:
    with shared().database() as url, ledger(url, str(tmp_path / "state")), Fleet(tmp_path, [url]) as made:
        yield made


def run_of(shipped: Shipped) -> RunRecord:
    with app.open().read() as reader:
        run = reader.get(RunRecord, shipped.run_id)
    assert run is not None
    return run


async def eventually(holds: Callable[[], object], within_s: float = 30) -> None:
    """Other processes' commits are seen by looking."""
    clock = SystemClock()
    async with asyncio.timeout(within_s):
        while not holds():
            await clock.wait(asyncio.Event(), clock.now_us() + 20_000)


def driver_of(fleet: Fleet, run: RunRecord) -> FleetWorker:
    return next(worker for worker in fleet.workers if any(f"worker {run.worker_id} " in line for line in worker.said))


def attempts_of(shipped: Shipped) -> list[AttemptRecord]:
    with app.open().read() as reader:
        return reader.find(AttemptRecord, "run_id", shipped.run_id)


def test_of_two_workers_one_is_frozen_and_thaws(fleet: Fleet, held: Held) -> None:
    for worker in [fleet.start(), fleet.start()]:
        worker.wait_ready()

    async def story() -> None:
        held["key"].fault("hang", count=1, seconds=1.0)
        shipped = await submit(1, "key")
        await eventually(lambda: attempts_of(shipped))
        first = run_of(shipped)
        frozen = driver_of(fleet, first)
        frozen.freeze()
        assert await until_accounted([shipped], 120) == []
        taken = run_of(shipped)
        assert taken.fence > first.fence
        assert len(attempts_of(shipped)) > 1, "repeated under its key, by another worker"
        sequence = taken.sequence
        frozen.thaw()
        frozen.tell_to_end()
        assert frozen.ended(30) == 0
        with app.open().read() as reader:
            after = reader.entries(shipped.run_id, after=sequence)
        assert {entry.kind for entry in after} <= {EntryKind.LATE}, "evidence of its attempt, and nothing else"
        assert weighed([shipped], held) == ({"completed": 1}, [])

    asyncio.run(story())


def test_of_eight_workers_three_are_killed(fleet: Fleet, held: Held) -> None:
    for worker in [fleet.start() for _ in range(8)]:
        worker.wait_ready()

    async def story() -> None:
        shipped = [await submit(number, "key") for number in range(100, 140)]
        for worker in fleet.workers[:3]:
            worker.kill()
        assert await until_accounted(shipped, 40) == []
        assert weighed(shipped, held) == ({"completed": 40}, [])

    asyncio.run(story())
    for worker in fleet.workers[3:]:
        worker.tell_to_end()
    assert [worker.ended(40) for worker in fleet.workers[3:]] == [0] * 5


def test_whoever_is_told_to_end_gives_its_runs_back_at_once(tmp_path: Path, held: Held) -> None:
    with (
        shared().database() as url,
        ledger(url, str(tmp_path / "state")),
        Fleet(tmp_path, [url], COUNTERFOIL_LEASE_SECONDS="600") as fleet,
    ):
        first = fleet.start()
        first.wait_ready()

        async def story() -> None:
            held["key"].fault("hang", count=1, seconds=1.5)
            shipped = await submit(200, "key")
            await eventually(lambda: attempts_of(shipped))
            first.tell_to_end()
            assert first.ended(30) == 0
            run = run_of(shipped)
            assert run.state in (RunState.PENDING, RunState.WAITING) or run.state.ended
            assert run.lease_until is None
            assert all(attempt.ended_at is not None for attempt in attempts_of(shipped)), "what was under way has ended"
            fleet.start()
            assert await until_accounted([shipped], 120) == [], "no lease of ten minutes is waited for"
            assert weighed([shipped], held) == ({"completed": 1}, [])

        asyncio.run(story())
