"""Workers: claims, cancellation, suspects, stops of the clock, and restores."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from datetime import timedelta

import pytest

from counterfoil.engine.administration import RegisterWorker
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing


def test_a_claim_is_compare_and_set(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def simple(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        opened = house.app.open()
        submitted = await house.app.submit(simple, Order(number="1"), request_id="r")
        claims = [opened.write(Claim(submitted.run_id, f"wrk_{n}", opened.deadlines)) for n in range(3)]
        taken = [claimed for claimed in await asyncio.gather(*claims) if claimed is not None]
        assert len(taken) == 1 and taken[0].fence == 1

    asyncio.run(story())


def test_a_run_that_dies_alone_is_poisoned(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def deadly(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        opened = house.app.open()
        submitted = await house.app.submit(deadly, Order(number="1"), request_id="r")
        await opened.write(RegisterWorker("wrk_a", "host", "boot", 1, {}))
        for alone in (False, False, True):
            claimed = await opened.write(Claim(submitted.run_id, "wrk_a", opened.deadlines, alone=alone))
            assert claimed is not None
            await opened.write(HolderGone(submitted.run_id, "wrk_a", claimed.fence))
        assert house.run(submitted.run_id).crashes == 2
        async with house.working():
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "poisoned"
            await house.app.runs.resume(submitted.run_id, by="ana")
            assert await submitted.result() == 1
        house.clean()

    asyncio.run(story())


def test_cancelling_withdraws_what_was_never_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            await house.app.runs.cancel(submitted.run_id, by="ana", reason="not wanted")
            await house.state(submitted.run_id, "cancelled")
            with pytest.raises(Refused) as ended:
                await house.app.runs.cancel(submitted.run_id, by="ana", reason="again")
            assert ended.value.code == "run_ended"
        (operation,) = house.operations(submitted.run_id)
        assert (operation.status.value, operation.sent, list(crm.records())) == ("failed", 0, [])
        house.clean()

    asyncio.run(story())


def test_cancelling_while_it_runs_is_heard(house: House) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def slow() -> int:
        started.set()
        await release.wait()
        return 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def working(run: Run, order: Order) -> int:
        await run.step(slow)
        await run.sleep(timedelta(days=1))
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(working, Order(number="1"), request_id="r")
            await started.wait()
            await house.app.runs.cancel(submitted.run_id, by="ana", reason="stop")
            release.set()
            await house.state(submitted.run_id, "cancelled")

    asyncio.run(story())


def test_cancelling_a_doubt_asks_and_never_sends(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.until(submitted.run_id, lambda run: run.failed_tries == 1 and run.state.value == "waiting")
            await house.app.runs.cancel(submitted.run_id, by="ana", reason="not wanted")
            house.clock.advance(10)
            run = await house.state(submitted.run_id, "parked")
            assert (run.reason, run.heading) == ("outcome_unknown", "cancelled")
            (operation,) = house.operations(submitted.run_id)
            assert operation.attempts == 1
            await house.app.operations.resolve(
                operation.operation_id, as_="succeeded", by="ana", secret=SECRET, reason="seen", evidence=b"list",
                reference="case-814", expect_version=operation.version,
            )  # fmt: skip
            await house.state(submitted.run_id, "cancelled")
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


def test_a_jump_of_the_clock_stops_sending(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        house.clock.jump(7200)
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "clock_jump" and list(crm.records()) == []
            house.clock.jump(-7200)
            house.clock.advance(7300)  # the database's time never goes back: the host has to catch up
            await house.state(submitted.run_id, "completed")
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_wall_that_is_set_moves_nothing_that_waits(hours: int, house_with_crm: House, crm: SandboxProcess) -> None:
    """Time goes on by the clock that counts sleep: nobody is called hung, and nothing has to be caught up with afterwards."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        before = house.app.open().clock.now_us()
        house.clock.jump(hours * 3600)
        assert house.app.open().clock.now_us() == before
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "clock_jump" and run.deadline_at is not None
            assert list(crm.records()) == []
            house.clock.advance(2 * 5)  # a worker beats while they disagree, too
            house.clock.jump(-hours * 3600)
            house.clock.advance(2 * 5)
            await house.state(submitted.run_id, "completed")
        assert house.app.open().installation().clock_us < before + 60_000_000
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


def test_a_clock_that_is_set_in_flight_keeps_the_bytes_here(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    def met(when: str, names: Sequence[str]) -> None:
        if (
            when == "after"
            and "operation.in_flight" in names
            and house.app.boundaries.passed["operation.in_flight"] == 1
        ):
            house.clock.jump(-7200)

    async def story() -> None:
        house.found()
        house.app.boundaries.observers.append(met)
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "parked")
            assert crm.requests() == [] and house.run(submitted.run_id).reason == "clock_jump"
            house.clock.jump(7200)
            house.clock.advance(10)
            await house.state(submitted.run_id, "completed")
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


def test_a_restored_database_sends_nothing_until_a_person_finishes(house_with_crm: House, crm: SandboxProcess) -> None:
    """The backup was taken before the send; the receiver has the record, the restored ledger does not know it."""
    house = house_with_crm
    operation = create_case(house.app)
    workflow = writing(house.app, operation)
    folder, backup = house.folder / "db", house.folder / "backup"

    async def sent() -> str:
        house.found()
        submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
        house.app.close()
        shutil.copytree(folder, backup)
        async with house.working():
            await house.state(submitted.run_id, "completed")
        house.app.close()
        return submitted.run_id

    async def restored(run_id: str) -> None:
        assert house.app.restore.status()["suspended"] is True
        async with house.working():
            run = await house.state(run_id, "parked")
            assert run.reason in ("restored", "outcome_unknown") and len(list(crm.records())) == 1
            await house.app.restore.finish(as_="restored", by="ana", secret=SECRET, reason="checked with the CRM")
            run = await house.until(run_id, lambda run: run.state.value in ("completed", "parked"))
            (known,) = house.operations(run_id)
            assert len(list(crm.records())) == 1, "one record, or a visible doubt"
            assert run.state.value == "completed" or known.status.value in ("unknown", "in_flight", "prepared")
        house.clean()

    run_id = asyncio.run(sent())
    shutil.rmtree(folder)
    os.rename(backup, folder)
    asyncio.run(restored(run_id))
