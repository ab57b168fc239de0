"""Limits that all workers keep together: runs driven at once, attempts at once, attempts in a time, a receiver's own wish."""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Env, Workflow
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Call, Run
from counterfoil.engine.slots import Pool
from counterfoil.model.contract import Contract, When
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt
from counterfoil.model.slots import Partition, Rate, SlotRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import KEY, contract, create_case, writing


class Door:
    """Whoever enters waits until let go on. `inside` are those who wait, `most` how many were inside at once."""

    def __init__(self) -> None:
        self.inside: list[str] = []
        self.most = 0
        self._moved = asyncio.Condition()
        self._open = 0

    async def enter(self, name: str) -> None:
        async with self._moved:
            self.inside.append(name)
            self.most = max(self.most, len(self.inside))
            self._moved.notify_all()
            await self._moved.wait_for(lambda: self._open > 0)
            self._open -= 1
            self.inside.remove(name)

    async def let_go(self, count: int = 1) -> None:
        async with self._moved:
            self._open += count
            self._moved.notify_all()

    async def until_inside(self, count: int) -> None:
        async with asyncio.timeout(20), self._moved:
            await self._moved.wait_for(lambda: len(self.inside) >= count)


async def eventually(holds: Callable[[], object]) -> None:
    """Whoever commits: another worker's commits are seen by looking."""
    clock = SystemClock()
    async with asyncio.timeout(20):
        while not holds():
            await clock.wait(asyncio.Event(), clock.now_us() + 20_000)


def completed(house: House, *run_ids: str) -> Callable[[], bool]:
    return lambda: all(house.run(run_id).state.value == "completed" for run_id in run_ids)


def really(house: House, *others: App) -> None:
    """Time passes by itself here: what is held waits for other processes, and for time."""
    for app in (house.app, *others):
        app.clock = SystemClock()


class Parcel(BaseModel):
    number: str
    customer: str


def left(house: House) -> list[SlotRecord]:
    with house.app.open().read() as reader:
        return list(reader.rows(SlotRecord))


def test_two_workers_keep_one_limit_of_a_workflow(house: House) -> None:
    door = Door()
    other = house.new_app()

    def declare(app: App) -> Workflow[Order, int]:
        async def slow(order: Order) -> int:
            await door.enter(order.number)
            return 1

        @app.workflow(version=1, budget=BUDGET, concurrency=2)
        async def limited(run: Run, order: Order) -> int:
            return await run.step(slow, order)

        return limited

    limited = declare(house.app)
    declare(other)
    really(house, other)

    async def story() -> None:
        house.found()
        async with house.working(), house.working(other):
            runs = [await house.app.submit(limited, Order(number=str(n)), request_id=f"r{n}") for n in range(5)]
            await door.until_inside(2)
            held = [r.run_id for r in runs if str(runs.index(r)) not in door.inside]
            for run_id in held:
                await eventually(lambda: house.run(run_id).held_for is not None)  # noqa: B023 - asked at once
                run = house.run(run_id)
                assert run.sentence == "Waits for a slot of workflow limited, 2 of 2 in use."
                shown = house.app.runs.show(run_id)
                assert [wait["kind"] for wait in shown["pending"]] == ["slot"]
                assert shown["next_action"]["sentence"] == run.sentence
            await door.let_go(5)
            await eventually(completed(house, *(submitted.run_id for submitted in runs)))
            assert all(house.run(submitted.run_id).held_for is None for submitted in runs)
        assert door.most == 2
        assert left(house) == []
        house.clean()
        other.close()

    asyncio.run(story())


def test_each_value_of_a_partition_has_its_own_places(house: House) -> None:
    door = Door()

    async def slow(parcel: Parcel) -> int:
        await door.enter(parcel.number)
        return 1

    @house.app.workflow(version=1, budget=BUDGET, partition=Partition("customer", concurrency=1))
    async def one_each(run: Run, parcel: Parcel) -> int:
        return await run.step(slow, parcel)

    really(house)

    async def story() -> None:
        house.found()
        async with house.working():
            runs = {
                number: await house.app.submit(one_each, Parcel(number=number, customer=number[0]), request_id=number)
                for number in ("a1", "a2", "b1")
            }
            await door.until_inside(2)
            first = next(number for number in ("a1", "a2") if number in door.inside)
            second = {"a1": "a2", "a2": "a1"}[first]
            assert sorted(door.inside) == sorted([first, "b1"])
            held = await house.until(runs[second].run_id, lambda run: run.held_for is not None)
            assert held.sentence == "Waits for a slot of one_each with customer=a, 1 of 1 in use."
            await door.let_go(3)
            await eventually(completed(house, *(submitted.run_id for submitted in runs.values())))
        assert door.most == 2
        assert left(house) == []

    asyncio.run(story())


def test_a_dead_worker_leaks_no_place(house: House) -> None:
    workflow = writing(house.app, create_case(house.app))
    pools = (Pool("workflow:writing", 1),)

    async def story() -> None:
        house.found()
        opened = house.app.open()
        first, second = [(await house.app.submit(workflow, Order(number=n), request_id=n)).run_id for n in ("1", "2")]
        taken = await opened.write(Claim(first, "wrk_a", opened.deadlines, pools=pools))
        assert await opened.write(Claim(second, "wrk_b", opened.deadlines, pools=pools)) is None
        assert house.run(second).held_for == "workflow:writing"
        await opened.write(HolderGone(first, "wrk_a", taken.fence))
        assert (
            await opened.write(Claim(second, "wrk_b", opened.deadlines, pools=pools, held_for="workflow:writing"))
            is None
        )
        again = await opened.write(Claim(first, "wrk_b", opened.deadlines, pools=pools))
        assert again.fence == taken.fence + 1
        assert len(left(house)) == 1
        assert house.count(second, "suspended") == 1, "an entry once, however often it is looked at"

    asyncio.run(story())


def test_attempts_at_once_at_one_receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> None:
    house = House(tmp_path, monkeypatch, crm.url)
    house.app.receiver("bank", url=Env("CRM_URL"), environment="test", concurrency=1)
    really(house)
    door = Door()

    @house.app.operation(receiver="bank", contract=contract("key"), business_key="number", owner="lead")
    async def pay(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        await door.enter(order.number)
        return Receipt(reference=reply.json()["id"])

    @house.app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(pay, order)

    async def story() -> None:
        house.found()
        async with house.working():
            runs = [await house.app.submit(paying, Order(number=str(n)), request_id=f"r{n}") for n in range(3)]
            await door.until_inside(1)
            assert house.app.receivers.show("bank")["limits"]["in_use"] == 1
            held = [r.run_id for r in runs if str(runs.index(r)) not in door.inside]
            for run_id in held:
                run = await house.until(run_id, lambda run: run.held_for is not None)
                assert run.sentence == "Waits for a slot of receiver bank, 1 of 1 in use."
                shown = [o for o in house.app.operations.list()["items"] if o["run_id"] == run_id]
                assert shown[0]["case"]["sentence"].endswith("Waits for a slot of receiver bank, 1 of 1 in use.")
                assert shown[0]["attempts"] == []
            await door.let_go(3)
            await eventually(completed(house, *(submitted.run_id for submitted in runs)))
        assert (door.most, len(crm.records())) == (1, 3)
        assert left(house) == []
        house.clean()
        house.app.close()

    asyncio.run(story())


def test_a_rate_is_kept_over_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> None:
    house = House(tmp_path, monkeypatch, crm.url)
    other = house.new_app()
    really(house, other)

    def declare(app: App) -> Workflow[Order, Receipt]:
        app.receiver("bank", url=Env("CRM_URL"), environment="test", rate=Rate(2, per=timedelta(seconds=1)))

        @app.operation(receiver="bank", contract=contract("key"), business_key="number", owner="lead")
        async def pay(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            return Receipt(reference=reply.json()["id"])

        @app.workflow(version=1, budget=BUDGET)
        async def paying(run: Run, order: Order) -> Receipt:
            return await run.perform(pay, order)

        return paying

    workflow = declare(house.app)
    declare(other)

    async def story() -> None:
        house.found()
        async with house.working(), house.working(other):
            runs = [await house.app.submit(workflow, Order(number=str(n)), request_id=f"r{n}") for n in range(5)]
            await eventually(completed(house, *(submitted.run_id for submitted in runs)))
        sent = sorted(o.first_sent_at or 0 for r in runs for o in house.operations(r.run_id))
        assert all(at - sent[0] >= (n - 1) * 500_000 for n, at in enumerate(sent)), [at - sent[0] for at in sent]
        assert len(crm.records()) == 5
        house.app.close()
        other.close()

    asyncio.run(story())


class Shy:
    """A receiver that answers the first write with 429 and a pause, and takes the others."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length"))
        number = json.loads(await reader.readexactly(size))["number"]
        self.seen.append(number)
        first = len(self.seen) == 1
        body = b"{}" if first else json.dumps({"id": f"ref-{number}"}).encode()
        status = "429 Too Many Requests\r\nRetry-After: 1" if first else "201 Created"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


def test_a_receiver_that_asks_for_a_pause_is_left_alone_by_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        shy = Shy()
        server = await asyncio.start_server(shy.answer, "127.0.0.1", 0)
        house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        busy = [When(status="2xx").means("applied"), When(status=429).means("not_applied")]

        @house.app.operation(
            receiver="crm",
            contract=Contract(api_version="1", key=KEY, classifier=busy),
            business_key="number",
            owner="lead",
        )
        async def pay(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/pay", json=order.model_dump())
            return Receipt(reference=reply.json()["id"])

        @house.app.workflow(version=1, budget=BUDGET)
        async def paying(run: Run, order: Order) -> Receipt:
            return await run.perform(pay, order)

        really(house)
        house.found()
        async with house.working():
            first = await house.app.submit(paying, Order(number="1"), request_id="r1")
            await house.until(first.run_id, lambda run: run.held_for is not None)
            second = await house.app.submit(paying, Order(number="2"), request_id="r2")
            run = await house.until(second.run_id, lambda run: run.held_for is not None)
            assert run.sentence.startswith("Receiver crm answered 429 and asked to be left alone until ")
            assert house.app.receivers.show("crm")["limits"]["closed_by"] == 429
            assert shy.seen == ["1"]
            await eventually(completed(house, first.run_id, second.run_id))
        assert sorted(shy.seen[1:]) == ["1", "2"]
        server.close()
        house.app.close()

    asyncio.run(story())


@pytest.mark.parametrize("limits", [{"concurrency": 0}, {"partition": Partition("town")}, {"queue": " "}])
def test_limits_that_cannot_be_kept_are_refused(house: House, limits: dict[str, object]) -> None:
    async def unfit(run: Run, order: Order) -> int:
        return 1

    with pytest.raises(Refused) as refused:
        house.app.workflow(version=1, budget=BUDGET, **limits)(unfit)  # type: ignore[arg-type]
    assert refused.value.code == "limit_unfit"


@pytest.mark.parametrize("rate", [Rate(0, per=timedelta(seconds=1)), Rate(1, per=timedelta(0))])
def test_a_rate_that_lets_nothing_through_is_refused(house: House, rate: Rate) -> None:
    with pytest.raises(Refused) as refused:
        house.app.receiver("slow", url="http://127.0.0.1:9", environment="test", rate=rate)
    assert refused.value.code == "limit_unfit"


@pytest.fixture
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process
