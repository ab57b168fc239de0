"""Who waits for room gets it, nobody else's work stands in its way, and nobody drives or sends more at once than was said."""

import asyncio
from pathlib import Path

import pytest

from counterfoil.app import App
from counterfoil.engine.definitions import Env, Workflow
from counterfoil.engine.leases import Claim, HandOver
from counterfoil.engine.port import Call, Run
from counterfoil.engine.slots import Pool
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunState
from counterfoil.model.slots import SlotRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.test_slots import Door, completed, eventually, left, really
from tests.engine.writes import contract, create_case

POOL = "workflow:limited"


def declared(app: App, version: int) -> Workflow[Order, int]:
    @app.workflow(version=version, budget=BUDGET, concurrency=1)
    async def limited(run: Run, order: Order) -> int:
        return version

    return limited


async def held(house: House, workflow: Workflow[Order, int], *numbers: str) -> list[str]:
    """Runs that found the only place taken, which is free by now; behind the one that had it, which nobody drives."""
    opened = house.app.open()
    first, *others = [
        (await house.app.submit(workflow, Order(number=n), request_id=n)).run_id for n in ("first", *numbers)
    ]
    taken = await opened.write(Claim(first, "wrk_a", opened.deadlines, pools=(Pool(POOL, 1),)))
    for run_id in others:
        assert await opened.write(Claim(run_id, "wrk_b", opened.deadlines, pools=(Pool(POOL, 1),))) is None
        assert house.run(run_id).held_for == POOL
    await opened.write(HandOver(first, taken.fence, opened.deadlines))
    return others


def test_held_runs_of_a_version_that_is_not_here_stand_in_nobodys_way(house: House) -> None:
    other = house.new_app()
    old, new = declared(house.app, 1), declared(other, 2)

    async def story() -> None:
        house.found()
        stuck = await held(house, old, "1", "2", "3")
        opened = other.open()
        mine = await other.submit(new, Order(number="4"), request_id="4")
        full = Claim(mine.run_id, "wrk_b", opened.deadlines, pools=(Pool(POOL, 0),))
        assert await opened.write(full) is None and house.run(mine.run_id).held_for == POOL
        async with asyncio.timeout(20):
            await other.new_worker().run(until_idle=True)  # and it is idle, whatever is held for others
        assert house.run(mine.run_id).state is RunState.COMPLETED
        assert [house.run(run_id).held_for for run_id in stuck] == [POOL] * 3
        other.close()

    asyncio.run(story())


def test_a_worker_for_one_run_does_not_wait_behind_the_others_that_are_held(house: House) -> None:
    old = declared(house.app, 1)

    async def story() -> None:
        house.found()
        *_, last = await held(house, old, "1", "2", "3")
        worker = house.app.new_worker(only=frozenset({last}))
        part = asyncio.create_task(worker.run())
        await house.state(last, "completed")
        worker.stop()
        await part

    asyncio.run(story())


def test_what_a_worker_cannot_take_makes_no_room(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERFOIL_CONCURRENCY", "1")
    door, other = Door(), house.new_app()

    @house.app.workflow(version=1, budget=BUDGET)
    async def entering(run: Run, order: Order) -> int:
        async def enter() -> int:
            await door.enter(order.number)
            return 1

        return await run.step(enter)

    @other.workflow(version=1, budget=BUDGET)
    async def foreign(run: Run, order: Order) -> int:
        return 1

    really(house)

    async def story() -> None:
        house.found()
        for number in ("a", "b", "c"):  # due first, and nobody's here: they are passed over
            await other.submit(foreign, Order(number=number), request_id=number)
        mine: list[str] = []
        for number in ("1", "2", "3", "4"):
            mine.append((await house.app.submit(entering, Order(number=number), request_id=number)).run_id)
        async with house.working():
            for count in range(1, 5):
                await door.until_inside(1)
                await door.let_go()
                await eventually(lambda: sum(completed(house, each)() for each in mine) == count)  # noqa: B023 - asked at once
        assert door.most == 1
        other.close()

    asyncio.run(story())


def test_who_waits_for_a_place_waits_for_no_reviewer(house_with_crm: House) -> None:
    house = house_with_crm

    pay = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET, concurrency=1)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(pay, order)

    async def story() -> None:
        house.found()
        opened = house.app.open()
        async with house.working():
            submitted = await house.app.submit(paying, Order(number="1"), request_id="1")
            waits = await house.until(submitted.run_id, lambda run: run.reason == "review")
        (review,) = house.app.reviews.list(state="open")["items"]
        await house.app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET)
        full = Claim(submitted.run_id, "wrk_b", opened.deadlines, pools=(Pool("workflow:paying", 0),))
        assert await opened.write(full) is None
        run = house.run(submitted.run_id)
        assert (waits.reason, run.reason, run.waiting_since) == ("review", "slot", None)
        house.clean()

    asyncio.run(story())


def test_a_sender_that_lives_keeps_its_place_beyond_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess
) -> None:
    house = House(tmp_path, monkeypatch, crm.url)
    house.app.receiver("bank", url=Env("CRM_URL"), environment="test", concurrency=1)
    door = Door()

    @house.app.operation(receiver="bank", contract=contract("key"), business_key="number", owner="lead")
    async def pay(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        await door.enter(order.number)
        return Receipt(reference=reply.json()["id"])

    @house.app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(pay, order)

    def place() -> SlotRecord:
        (slot,) = [slot for slot in left(house) if slot.pool == "receiver:bank"]
        return slot

    async def story() -> None:
        house.found()
        async with house.working():
            first = await house.app.submit(paying, Order(number="1"), request_id="1")
            await door.until_inside(1)
            deadline = until = place().until or 0
            while until < deadline + 60_000_000:  # the deadline passes, and its sender still lives
                house.clock.advance((until - house.clock.now_us()) / 1_000_000 - 1)
                await eventually(lambda: (place().until or 0) > until)  # noqa: B023 - asked at once
                until = place().until or 0
            second = await house.app.submit(paying, Order(number="2"), request_id="2")
            run = await house.until(second.run_id, lambda run: run.held_for is not None)
            assert run.sentence == "Waits for a slot of receiver bank, 1 of 1 in use."
            await door.let_go(2)
            await house.state(first.run_id, "completed")
            await house.state(second.run_id, "completed")
        assert door.most == 1 and left(house) == []
        house.clean()
        house.app.close()

    asyncio.run(story())
