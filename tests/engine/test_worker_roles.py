"""Who takes up what: queues, versions that nobody has, and a worker that ends with a step that hangs."""

import asyncio
from datetime import timedelta

import pytest

from counterfoil.engine import worker as working
from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused
from tests.engine.house import BUDGET, House, Order


def test_a_worker_of_a_queue_takes_up_nothing_else(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET, queue="mail")
    async def mailing(run: Run, order: Order) -> int:
        return 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def other(run: Run, order: Order) -> int:
        return 2

    async def story() -> None:
        house.found()
        left = await house.app.submit(other, Order(number="1"), request_id="r1")
        mail = await house.app.submit(mailing, Order(number="2"), request_id="r2")
        worker = house.app.new_worker(queues=frozenset({"mail"}))
        await worker.run(until_idle=True)
        assert await mail.result() == 1
        assert house.run(left.run_id).state.value == "pending"
        (shown,) = house.app.workers.list()["items"]
        assert (shown["queues"], shown["versions"]) == (["mail"], {"mailing": [1]})
        with pytest.raises(Refused) as unknown:
            house.app.new_worker(queues=frozenset({"post"}))
        assert unknown.value.code == "unknown_queue"

    asyncio.run(story())


def test_a_run_that_no_worker_has_says_which_version_it_needs(house: House) -> None:
    @house.app.workflow(version=3, budget=BUDGET)
    async def newer(run: Run, order: Order) -> int:
        return 1

    @house.app.workflow(version=1, budget=BUDGET, queue="mail")
    async def mailing(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(newer, Order(number="1"), request_id="r1")
        worker = house.app.new_worker(queues=frozenset({"mail"}))
        part = asyncio.create_task(worker.run())
        house.clock.advance(14 * 60)
        assert house.run(submitted.run_id).state.value == "pending"
        house.clock.advance(2 * 60)
        run = await house.state(submitted.run_id, "parked")
        assert run.reason == "no_worker"
        assert run.sentence == "No worker took it up in time. It needs newer version 3."
        worker.stop()
        await part
        async with house.working():
            await house.state(submitted.run_id, "completed")  # by itself, when a worker with its version starts
        house.clean()

    asyncio.run(story())


def test_a_wait_that_is_over_belongs_to_whoever_has_its_code(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def sleeping(run: Run, order: Order) -> int:
        await run.sleep(timedelta(hours=1))
        return 1

    @house.app.workflow(version=1, budget=BUDGET, queue="mail")
    async def mailing(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(sleeping, Order(number="1"), request_id="r1")
        async with house.working():
            await house.state(submitted.run_id, "waiting")
        house.clock.advance(3601)
        await house.app.new_worker(queues=frozenset({"mail"})).run(until_idle=True)
        assert house.run(submitted.run_id).state.value == "waiting", (
            "due at its deadline, and not expired by a stranger"
        )
        async with house.working():
            assert await submitted.result() == 1

    asyncio.run(story())


def test_what_hangs_at_the_end_of_a_worker_is_given_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "DRAIN_S", 0.2)
    begun, tries = asyncio.Event(), 0

    async def hanging() -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            begun.set()
            await asyncio.Event().wait()
        return tries

    @house.app.workflow(version=1, budget=BUDGET)
    async def stuck(run: Run, order: Order) -> int:
        return await run.step(hanging)

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(stuck, Order(number="1"), request_id="r1")
        async with house.working():
            await begun.wait()
        run = house.run(submitted.run_id)
        assert (run.state.value, run.lease_until, run.crashes) == ("pending", None, 0)
        async with house.working():
            assert await submitted.result() == 2
        house.clean()

    asyncio.run(story())
