"""What says that a sender lives: its lock, which is free when nothing is under way any more; and what performing leaves behind."""

import asyncio
import threading

import pytest

from counterfoil.engine import runner, worker
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.finish import Park
from counterfoil.engine.locks import lock_is_free
from counterfoil.engine.port import Call, Run
from counterfoil.engine.submission import submission
from counterfoil.model.codec import parsed
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import ParkReason
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.test_slots import Door, eventually, really
from tests.engine.writes import contract, create_case

PERFORMED = {"operation": "create_case", "payload": {"number": "5", "amount": 1}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, house_with_crm: House) -> None:
    """A drain gives up soon."""
    monkeypatch.setattr(worker, "DRAIN_S", 0.1)
    monkeypatch.setattr(runner, "UNWIND_S", 0.1)
    really(house_with_crm)


def attempts(house: House) -> list[AttemptRecord]:
    with house.app.open().read() as reader:
        return list(reader.rows(AttemptRecord))


def test_a_worker_that_ends_is_not_gone_while_what_it_sent_is_under_way(house_with_crm: House) -> None:
    house, door = house_with_crm, Door()

    @house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")
    async def slow(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        await door.enter(order.number)
        return Receipt(reference=reply.json()["id"])

    @house.app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(slow, order)

    async def story() -> None:
        house.found()
        locks = house.app.open().locks
        async with house.working() as ended:
            await house.app.submit(paying, Order(number="1"), request_id="1")
            await door.until_inside(1)
        assert not lock_is_free(locks, ended.worker_id), "this process stays, and its attempt lives"
        await door.let_go()
        await eventually(lambda: lock_is_free(locks, ended.worker_id))
        assert [attempt.ended_at is None for attempt in attempts(house)] == [False]

    asyncio.run(story())


def test_a_thread_that_goes_on_when_its_loop_ends_has_not_ended(house_with_crm: House) -> None:
    house, inside, on = house_with_crm, threading.Event(), threading.Event()

    @house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")
    def slow(call: Call, order: Order) -> Receipt:
        with call.sending() as sending:
            inside.set()
            assert on.wait(20)
            sending.reply(201, {"id": "case-1"})
        return Receipt(reference="case-1")

    @house.app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(slow, order)

    house.found()
    locks = house.app.open().locks

    async def story() -> str:
        ended = house.app.new_worker()
        asyncio.create_task(ended.run())  # noqa: RUF006 - the loop ends under it
        await house.app.submit(paying, Order(number="1"), request_id="1")
        assert await asyncio.to_thread(inside.wait, 20)
        return ended.worker_id

    worker_id = asyncio.run(story())
    assert [attempt.ended_at for attempt in attempts(house)] == [None], "nobody knows what it sent, or will"
    assert not lock_is_free(locks, worker_id)
    on.set()
    asyncio.run(eventually(lambda: lock_is_free(locks, worker_id)))


def test_performing_leaves_one_name_and_takes_up_nothing_else(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app)

    @house.app.workflow(version=1, budget=BUDGET)
    async def stranger(run: Run, order: Order) -> int:
        return 1

    async def story() -> None:
        house.found()
        opened = house.app.open()
        other = await house.app.submit(stranger, Order(number="9"), request_id="9")
        run = house.run(other.run_id)
        owner = parsed(run.budget)["owner"]
        await opened.write(Park(run.run_id, None, None, ParkReason.CODE_CHANGED, "", owner, None, None, None))
        for number in ("1", "2", "3"):
            await house.app.ledger.perform(operation, Order(number=number), identity=number)
        assert house.run(other.run_id).state.value == "parked"
        verb = submission(
            opened.installation_id, house.app.registry.workflows["ledger", 1], PERFORMED, "5", opened.deadlines
        )
        await opened.write(verb)
        await opened.write(Park(verb.run_id, None, None, ParkReason.NO_WORKER, "", owner, None, None, None))
        await house.app.ledger.perform(operation, Order(number="5"), identity="5")
        with opened.read() as reader:
            (row,) = reader.rows(WorkerRecord)
        assert (row.versions, row.stopped_at) == ("{}", None)
        assert [path.stem for path in opened.locks.glob("wrk_*")] == [row.worker_id]
        assert not lock_is_free(opened.locks, row.worker_id)
        locks = opened.locks
        house.app.close()
        assert lock_is_free(locks, row.worker_id)
        with house.app.open().read() as reader:
            (row,) = reader.rows(WorkerRecord)
        assert row.stopped_at is not None
        await house.app.ledger.perform(operation, Order(number="4"), identity="4")
        assert len(crm.records()) == 5

    asyncio.run(story())


def test_a_caller_that_gives_up_leaves_no_free_lock_behind(house_with_crm: House) -> None:
    house, door = house_with_crm, Door()

    @house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")
    async def slow(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        await door.enter(order.number)
        return Receipt(reference=reply.json()["id"])

    async def story() -> None:
        house.found()
        locks = house.app.open().locks
        asked = asyncio.create_task(house.app.ledger.perform(slow, Order(number="1"), identity="1"))
        await door.until_inside(1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        (attempt,) = attempts(house)
        assert attempt.ended_at is None and not lock_is_free(locks, attempt.worker_id)
        house.app.close()
        assert not lock_is_free(locks, attempt.worker_id), "the application is closed, and its attempt lives"
        await door.let_go()
        await eventually(lambda: lock_is_free(locks, attempt.worker_id))

    asyncio.run(story())
    assert isinstance(house.app.clock, SystemClock)
