"""A quiet worker takes up nothing, hands over what it drives, and takes up runs again once it is woken."""

import asyncio

import pytest

from counterfoil.engine.administration import RevokePerson
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case, writing


def test_quiet_and_awake_again(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working() as worker:
            first = await house.app.submit(workflow, Order(number="0"), request_id="q")
            await house.state(first.run_id, "waiting")  # it is there
            await house.app.workers.quiet(worker.worker_id, by="ana", reason="to be replaced")
            house.clock.advance(6)  # it looks at its own row with every heartbeat
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            # Another worker lives: it takes the run, though the quiet one was woken by the same commit.
            async with house.working(house.app) as other:
                await house.state(submitted.run_id, "waiting")
                assert house.entries(submitted.run_id)[1][2]["worker"] == other.worker_id
                (quiet,) = [w for w in house.app.workers.list()["items"] if w["worker_id"] == worker.worker_id]
                assert quiet["quiet"] and quiet["alive"]
            await house.app.workers.wake(worker.worker_id, by="ana", secret=SECRET)
            house.clock.advance(6)
            second = await house.app.submit(workflow, Order(number="2"), request_id="s")
            await house.state(second.run_id, "waiting")
            assert house.entries(second.run_id)[1][2]["worker"] == worker.worker_id
        house.clean()

    asyncio.run(story())


def test_who_is_revoked_quiets_nobody_and_a_stopped_worker_is_not_quieted(house: House) -> None:
    async def story() -> None:
        house.found()
        workflow = writing(house.app, create_case(house.app))
        async with house.working() as worker:
            first = await house.app.submit(workflow, Order(number="0"), request_id="q")
            await house.state(first.run_id, "running", "waiting")
        with pytest.raises(Refused) as stopped:
            await house.app.workers.quiet(worker.worker_id, by="ana", reason="x")
        assert stopped.value.code == "worker_stopped"
        async with house.working() as worker:
            second = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(second.run_id, "running", "waiting")
            opened = house.app.open()
            await opened.write(RevokePerson(opened.installation_id, "ana"))
            with pytest.raises(Refused) as refused:
                await house.app.workers.quiet(worker.worker_id, by="ana", reason="x")
            assert refused.value.code == "person_revoked"
            with pytest.raises(Refused) as wrong:
                await house.app.workers.wake(worker.worker_id, by="oscar", secret="no")
            assert wrong.value.code == "wrong_secret"

    asyncio.run(story())
