"""Signals, sleeps, timeouts, branches, children, records, and what happens to them at a replay."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused, RunFailed, StepFailed, TimedOut, Unresolved
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case


def test_a_signal_is_stored_first_and_matched_later(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> int:
        first = await run.wait_for("paid", Order, within=timedelta(days=1))
        second = await run.wait_for("paid", Order, within=timedelta(days=1))
        return first.amount * 10 + second.amount

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(waits, Order(number="1"), request_id="r")
        await house.app.signal(submitted.run_id, "paid", Order(number="x", amount=1), signal_id="s1")
        await house.app.signal(submitted.run_id, "paid", Order(number="x", amount=1), signal_id="s1")
        with pytest.raises(Refused) as other:
            await house.app.signal(submitted.run_id, "paid", Order(number="x", amount=9), signal_id="s1")
        assert other.value.code == "signal_conflict"
        async with house.working():
            await house.state(submitted.run_id, "waiting")
            await house.app.signal(submitted.run_id, "paid", Order(number="x", amount=2), signal_id="s2")
            assert await submitted.result() == 12
        house.clean()

    asyncio.run(story())


def test_a_signal_that_does_not_come_times_out(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> str:
        try:
            await run.wait_for("paid", Order, within=timedelta(hours=1))
        except TimedOut:
            await run.sleep(timedelta(hours=1))
            return "not paid"
        return "paid"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(waits, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(3600)
            await house.until(
                submitted.run_id, lambda run: run.state.value == "waiting" and house.count(run.run_id, "timer") == 2
            )
            house.clock.advance(3600)
            assert await submitted.result() == "not paid"
        house.clean()

    asyncio.run(story())


def test_a_durable_timeout_leaves_the_block(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def limited(run: Run, order: Order) -> str:
        try:
            async with run.timeout(timedelta(hours=1)):
                await run.wait_for("never", Order, within=timedelta(days=9))
        except TimedOut:
            await run.sleep(timedelta(minutes=1))
            return "over"
        return "came"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(limited, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(3600)
            await house.until(
                submitted.run_id, lambda run: run.state.value == "waiting" and house.count(run.run_id, "timer") == 3
            )
            house.clock.advance(60)
            assert await submitted.result() == "over"
        house.clean()

    asyncio.run(story())


def test_branches_have_positions_of_their_own_and_replay_in_order(house: House) -> None:
    seen: list[str] = []

    async def note(name: str) -> str:
        seen.append(name)
        return name

    @house.app.workflow(version=1, budget=BUDGET)
    async def branching(run: Run, order: Order) -> list[str]:
        released: list[str] = []

        async def part(name: str, hours: int) -> str:
            await run.sleep(timedelta(hours=hours))
            released.append(await run.step(note, name))
            return name

        later = run.branch(part("branch", 3))
        await run.gather(part("b", 2), part("a", 1))
        await later
        await run.sleep(timedelta(hours=1))
        return released

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(branching, Order(number="1"), request_id="r")
            for hour in range(3):
                await house.until(
                    submitted.run_id,
                    lambda run, hour=hour: run.state.value == "waiting" and house.count(run.run_id, "step") == hour,
                )
                house.clock.advance(3600)
            await house.until(
                submitted.run_id, lambda run: run.state.value == "waiting" and house.count(run.run_id, "step") == 3
            )
            house.clock.advance(3600)
            assert await submitted.result() == ["a", "b", "branch"]
        assert seen == ["a", "b", "branch"]
        house.clean()

    asyncio.run(story())


def test_two_pending_calls_in_one_branch_are_refused(house: House) -> None:
    async def note(name: str) -> str:
        return name

    @house.app.workflow(version=1, budget=BUDGET)
    async def tangled(run: Run, order: Order) -> int:
        await asyncio.gather(run.step(note, "a"), run.step(note, "b"))
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(tangled, Order(number="1"), request_id="r")
            with pytest.raises(RunFailed):
                await submitted.result()
            assert "concurrent_calls" in (house.run(submitted.run_id).failure or "")

    asyncio.run(story())


def test_a_child_answers_its_parent(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def inner(run: Run, order: Order) -> int:
        if order.amount > 5:
            raise ValueError("too much")
        return order.amount + 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def outer(run: Run, order: Order) -> int:
        first = await run.child(inner, order, request_id=f"{order.number}/child")
        try:
            await run.child(inner, Order(number="2", amount=9), request_id=f"{order.number}/other")
        except RunFailed:
            return first
        return 0

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(outer, Order(number="1", amount=3), request_id="r")
            assert await submitted.result() == 4
        house.clean()

    asyncio.run(story())


def test_who_waits_for_a_parent_hears_what_its_child_waits_for(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def part(run: Run, order: Order) -> int:
        raise StepFailed("no_stock", "nothing is left")

    @house.app.workflow(version=1, budget=BUDGET)
    async def whole(run: Run, order: Order) -> int:
        return await run.child(part, order, request_id="part-1")

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(whole, Order(number="1"), request_id="r")
        async with house.working():
            with pytest.raises(Unresolved) as unresolved:
                await submitted.result()
        assert "runs retry run-2" in unresolved.value.command, "the child's own way on"

    asyncio.run(story())


def test_now_uuid_and_random_are_the_same_at_every_replay(house: House) -> None:
    drawn: list[Any] = []

    @house.app.workflow(version=1, budget=BUDGET)
    async def draws(run: Run, order: Order) -> int:
        drawn.append((run.now(), run.uuid(), run.random(), run.uuid()))
        await run.sleep(timedelta(hours=1))
        drawn.append((run.now(), run.uuid()))
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(draws, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(3600)
            await submitted.result()
        first, again, later = drawn
        assert first == again and first[1] != first[3] and later[0] > first[0] and later[1] not in first

    asyncio.run(story())


def test_messages_and_documents_are_records_of_the_run(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def talks(run: Run, order: Order) -> int:
        await run.message("user", "hello")
        await run.document("notes", "first")
        await run.document("notes", order)
        await run.sleep(timedelta(hours=1))
        await run.message("agent", "bye")
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(talks, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(3600)
            await submitted.result()
        shown = house.app.runs.show(submitted.run_id)["records"]
        assert [m["text"] for m in shown["conversation"]] == ["hello", "bye"]
        assert [(d["name"], d["version"]) for d in shown["working_context"]] == [("notes", 1), ("notes", 2)]
        house.clean()

    asyncio.run(story())


def test_suspension_is_not_swallowed_and_writes_nothing_more(house: House) -> None:
    async def note(name: str) -> str:
        return name

    @house.app.workflow(version=1, budget=BUDGET)
    async def swallows(run: Run, order: Order) -> str:
        try:
            await run.sleep(timedelta(hours=1))
        except BaseException:
            await run.step(note, "after the end")
            return "swallowed"
        finally:
            await run.step(note, "in finally")
        return "slept"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(swallows, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            assert house.count(submitted.run_id, "step") == 0
            house.clock.advance(3600)
            assert await submitted.result() == "slept"
        assert house.count(submitted.run_id, "step") == 1
        house.clean()

    asyncio.run(story())


def test_transact_commits_once_with_our_id(house: House, tmp_path: Path) -> None:
    users = tmp_path / "users.db"
    sqlite3.connect(users).execute("create table orders (number text)").connection.close()

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(users)

    def insert(connection: sqlite3.Connection) -> int:
        connection.execute("insert into orders values ('1')")
        return 41

    @house.app.workflow(version=1, budget=BUDGET)
    async def writes(run: Run, order: Order) -> int:
        return await run.transact(connect, insert) + 1

    async def story() -> None:
        house.found()
        async with house.working():
            assert await (await house.app.submit(writes, Order(number="1"), request_id="r")).result() == 42

    asyncio.run(story())
    connection = sqlite3.connect(users)
    assert connection.execute("select count(*) from orders").fetchone() == (1,)
    connection.close()


def test_a_user_timeout_detaches_the_caller_and_not_the_attempt(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app)

    @house.app.workflow(version=1, budget=BUDGET)
    async def impatient(run: Run, order: Order) -> str:
        try:
            await asyncio.wait_for(run.perform(operation, order), 0)
        except TimeoutError:
            return "did not wait"
        return "waited"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(impatient, Order(number="1"), request_id="r")
            assert await submitted.result() == "did not wait"
        assert all(o.status.closed for o in house.operations(submitted.run_id))
        house.clean()

    asyncio.run(story())


def test_a_draining_worker_hands_over(house: House) -> None:
    release = asyncio.Event()
    started = asyncio.Event()

    async def slow(n: int) -> int:
        started.set()
        await release.wait()
        return n

    @house.app.workflow(version=1, budget=BUDGET)
    async def two(run: Run, order: Order) -> int:
        return await run.step(slow, 1) + await run.step(slow, 2)

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(two, Order(number="1"), request_id="r")
        worker = house.app.new_worker()
        part = asyncio.create_task(worker.run())
        await started.wait()
        worker.stop()
        release.set()
        await asyncio.wait_for(part, 10)
        assert house.run(submitted.run_id).state.value in ("pending", "completed")
        async with house.working():
            assert await submitted.result() == 3
        house.clean()

    asyncio.run(story())
