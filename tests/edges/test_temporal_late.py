"""A session that outlives what asked for it: its workflow was terminated or reset, its worker drained. On a real server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from counterfoil.integrations.temporal import Started
from counterfoil.integrations.temporal.hand import Hand
from tests.edges import temporal_app
from tests.edges.temporal_app import changed
from tests.edges.temporal_bench import Bench, benched, frozen


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a session of this process has found its run in other hands."""
    heard, look = asyncio.Event(), Hand._end_lease_of_the_dead  # pyright: ignore[reportPrivateUsage]

    async def looked(self: Hand, run: Any) -> None:
        await look(self, run)
        if run.worker_id not in (None, self.worker_id):
            heard.set()

    monkeypatch.setattr(Hand, "_end_lease_of_the_dead", looked)
    return heard


@asynccontextmanager
async def held_by_one_that_is_frozen(bench: Bench, workflow: Any, at: str) -> AsyncIterator[tuple[Started, Any]]:
    """A run whose lease a frozen process holds. Temporal misses its heartbeat, and asks whoever comes."""
    await bench.connect()
    with bench.life(freeze_at=at) as life:
        started = await bench.submit(workflow)
        await frozen(life)
        yield started, life


def under_way() -> list[str]:
    """The sessions of this process that are not over."""
    parts = [getattr(part.get_coro(), "__qualname__", "") for part in asyncio.all_tasks()]
    return [each for each in parts if each.startswith("Hand._session")]


def dead(life: Any) -> None:
    life.kill()
    life.wait()


def test_terminated_while_it_waits_for_its_claim(bench: Bench, asked: asyncio.Event) -> None:
    """The lease comes free when nobody wants the call any more: nothing is sent."""

    async def story() -> None:
        async with (
            held_by_one_that_is_frozen(bench, temporal_app.once, "operation.prepared") as (started, life),
            bench.worker() as client,
        ):
            await asyncio.wait_for(asked.wait(), 30)
            await client.get_workflow_handle(started.workflow_id).terminate()
            dead(life)
            run = await bench.until(started, lambda run: run["state"] in ("parked", "completed"))
            assert (run["state"], run["reason"]) == ("parked", "no_progress")

    asyncio.run(story())
    assert bench.requests == 0


def test_reset_while_it_waits_for_its_claim(bench: Bench, asked: asyncio.Event) -> None:
    """What the execution asked for that a reset has ended is not sent, nor does it stand in the way of the new one."""

    async def story() -> None:
        async with (
            held_by_one_that_is_frozen(bench, temporal_app.jots, "run.claimed") as (started, life),
            bench.worker(),
        ):
            await asyncio.wait_for(asked.wait(), 30)
            changed["note"] = "other words"
            await bench.reset(started)
            dead(life)
            await bench.result(started)

    asyncio.run(story())
    assert (bench.records, changed["jotted"]) == (1, ["other words"])


def test_drained_while_it_waits_for_its_claim(bench: Bench, asked: asyncio.Event) -> None:
    """Its worker has gone, and its process lock is free: it must claim nothing any more."""

    async def story() -> None:
        async with held_by_one_that_is_frozen(bench, temporal_app.once, "operation.prepared") as (started, life):
            async with bench.worker():
                await asyncio.wait_for(asked.wait(), 30)
            assert not under_way()
            dead(life)
            async with bench.worker():
                await bench.result(started)

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)
