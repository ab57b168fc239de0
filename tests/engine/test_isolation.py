"""Suspects in processes of their own, with processes that a test holds in its hand."""

import asyncio
from typing import Any

import pytest

from counterfoil.engine import isolation
from counterfoil.engine.administration import RegisterWorker, WorkerStopped
from counterfoil.engine.isolation import Isolate
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Run
from counterfoil.engine.worker import HEARTBEAT_US, Worker
from tests.engine.house import BUDGET, House, Order


class Process:
    """Ends when the test says so, or when it is killed."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.heard: list[str] = []
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._obeys = obeys

    def terminate(self) -> None:
        self.heard.append("terminate")
        if self._obeys:
            self.status.set_result(0)

    def kill(self) -> None:
        self.heard.append("kill")
        self.status.set_result(-9)

    async def wait(self) -> int:
        return await self.status


class Starts:
    """What a worker is given to start processes with: it tells which runs were asked for."""

    def __init__(self, *, obeys: bool = True, fails: int = 0) -> None:
        self.asked: asyncio.Queue[tuple[str, Process]] = asyncio.Queue()
        self.failed = asyncio.Event()
        self._obeys = obeys
        self._fails = fails

    async def isolate(self, run_id: str) -> Process:
        if self._fails:
            self._fails -= 1
            self.failed.set()
            raise BlockingIOError("no more processes")
        process = Process(obeys=self._obeys)
        self.asked.put_nowait((run_id, process))
        return process


def workflow_of(house: House) -> Any:
    @house.app.workflow(version=1, budget=BUDGET)
    async def simple(run: Run, order: Order) -> str:
        return order.number

    return simple


async def suspect(house: House, workflow: Any, number: str) -> str:
    """A run that died twice beside others."""
    submitted = await house.app.submit(workflow, Order(number=number), request_id=number)
    await died(house, submitted.run_id, (False, False))
    return submitted.run_id


async def died(house: House, run_id: str, alone: tuple[bool, ...]) -> None:
    opened = house.app.open()
    await opened.write(RegisterWorker("wrk_a", "host", "boot", 1, {}))
    for each in alone:
        claimed = await opened.write(Claim(run_id, "wrk_a", opened.deadlines, alone=each))
        assert claimed is not None
        await opened.write(HolderGone(run_id, "wrk_a", claimed.fence))
    await opened.write(WorkerStopped("wrk_a"))


class Working:
    """A worker of this process that isolates."""

    def __init__(self, house: House, isolate: Isolate) -> None:
        self.worker = house.app.new_worker(isolate=isolate)

    async def __aenter__(self) -> Worker:
        self._part = asyncio.create_task(self.worker.run())
        return self.worker

    async def __aexit__(self, *_: object) -> None:
        self.worker.stop()
        await asyncio.wait_for(self._part, 20)
        assert not self.worker.problems


def test_one_at_a_time_and_the_others_go_on(house: House) -> None:
    workflow = workflow_of(house)

    async def story() -> None:
        house.found()
        suspects = [await suspect(house, workflow, number) for number in "ab"]
        starts = Starts()
        async with Working(house, starts.isolate) as worker:
            first, process = await starts.asked.get()
            calm = await house.app.submit(workflow, Order(number="calm"), request_id="calm")
            assert await calm.result() == "calm"
            assert first in suspects and not worker.driving & set(suspects) and starts.asked.empty()
            await died(house, first, (True,))
            process.status.set_result(-9)
            assert (await house.state(first, "parked")).reason == "poisoned"
            second, process = await starts.asked.get()
            assert {first, second} == set(suspects)
        assert process.heard == ["terminate"]
        assert house.run(second).state.value == "running", "nobody but its own process would have driven it"
        house.clean()

    asyncio.run(story())


def test_what_died_alone_is_parked_without_a_process(house: House) -> None:
    workflow = workflow_of(house)

    async def story() -> None:
        house.found()
        run_id = await suspect(house, workflow, "a")
        await died(house, run_id, (True,))
        starts = Starts()
        async with Working(house, starts.isolate):
            assert (await house.state(run_id, "parked")).reason == "poisoned"
        assert starts.asked.empty()
        house.clean()

    asyncio.run(story())


@pytest.mark.parametrize("starts_at_all", [True, False])
def test_a_process_that_comes_to_nothing_is_not_tried_at_once_again(house: House, starts_at_all: bool) -> None:
    workflow = workflow_of(house)

    async def story() -> None:
        house.found()
        run_id = await suspect(house, workflow, "a")
        starts = Starts(fails=0 if starts_at_all else 1)
        async with Working(house, starts.isolate):
            if starts_at_all:
                _, process = await starts.asked.get()
                process.status.set_result(1)
            else:
                await starts.failed.wait()
            calm = await house.app.submit(workflow, Order(number="calm"), request_id="calm")
            assert await calm.result() == "calm"
            assert starts.asked.empty()
            house.clock.advance(HEARTBEAT_US / 1_000_000 + 1)
            assert (await starts.asked.get())[0] == run_id

    asyncio.run(story())


def test_a_process_that_hangs_is_killed_in_the_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = workflow_of(house)
    monkeypatch.setattr(isolation, "LEAVE_S", 0.01)

    async def story() -> None:
        house.found()
        await suspect(house, workflow, "a")
        starts = Starts(obeys=False)
        async with Working(house, starts.isolate):
            _, process = await starts.asked.get()
        assert process.heard == ["terminate", "kill"]

    asyncio.run(story())


def test_a_worker_for_one_run_ends_with_it(house: House) -> None:
    """Also when somebody else has it: of two processes for one suspect, one ends at once."""
    workflow = workflow_of(house)

    async def story() -> None:
        house.found()
        run_id, other = [await suspect(house, workflow, number) for number in "ab"]
        only = [house.app.new_worker(only=frozenset({run_id})) for _ in range(2)]
        await asyncio.wait_for(asyncio.gather(*(worker.run(until_idle=True) for worker in only)), 20)
        assert house.run(run_id).state.value == "completed"
        assert [kind for kind, _, data in house.entries(run_id) if kind == "started"] == ["started"] * 3
        assert house.run(other).crashes == 1 and house.run(other).state.value == "running"
        opened = house.app.open()
        await opened.write(RegisterWorker("wrk_b", "host", "boot", 1, {}))
        assert await opened.write(Claim(other, "wrk_b", opened.deadlines, alone=True)) is not None
        late = house.app.new_worker(only=frozenset({other}))
        await asyncio.wait_for(late.run(until_idle=True), 20)
        assert house.run(other).worker_id == "wrk_b"

    asyncio.run(story())
