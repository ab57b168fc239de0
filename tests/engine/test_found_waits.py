"""Found by an adversary: signals and children whose run did not hear of them."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.engine.execution import Execution
from counterfoil.engine.port import Run
from counterfoil.engine.waits import Receive
from counterfoil.model.run import RunRecord
from tests.engine.answers import submit
from tests.engine.house import BUDGET, House, Order

ORDER = Order(number="1")
HOUR, LONG = timedelta(hours=1), timedelta(days=9)


def test_a_signal_between_a_question_and_its_wait_is_heard(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> int:
        return (await run.wait_for("paid", Order, within=LONG)).amount

    write, sent = Execution.write, list[str]()

    async def write_and_signal(execution: Execution, verb: Any) -> Any:
        outcome = await write(execution, verb)
        if isinstance(verb, Receive) and not sent:
            sent.append(verb.run_id)
            await house.app.signal(verb.run_id, "paid", Order(number="1", amount=5), signal_id="s")
        return outcome

    monkeypatch.setattr(Execution, "write", write_and_signal)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, waits, ORDER, "r")
            assert (await house.state(run_id, "completed", "waiting")).result == "5"
        assert sent == [run_id]
        house.clean()

    asyncio.run(story())


def test_a_signal_that_does_not_fit_is_left_alone(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> int:
        return await run.wait_for("paid", int, within=LONG)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, waits, ORDER, "r")
            await house.state(run_id, "waiting")
            await house.app.signals.send(run_id, "paid", "no number", signal_id="slip")
            await house.until(run_id, lambda run: house.count(run_id, "suspended") == 2 or run.state.ended)
            await house.app.signals.send(run_id, "paid", 5, signal_id="right")
            assert (await house.state(run_id, "completed", "failed")).result == "5"
        listed = {item["signal_id"]: item["taken_by"] for item in house.app.signals.list()["items"]}
        assert (listed["slip"], listed["right"] is None) == (None, False)
        house.clean()

    asyncio.run(story())


def test_a_parent_hears_of_a_child_that_somebody_else_submitted(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def kid(run: Run, order: Order) -> int:
        await run.sleep(HOUR)
        return 7

    @house.app.workflow(version=1, budget=BUDGET)
    async def parent(run: Run, order: Order) -> int:
        return await run.child(kid, ORDER, request_id="kid")

    async def story() -> None:
        house.found()
        async with house.working():
            kid_id = await submit(house, kid, ORDER, "kid")
            await house.state(kid_id, "waiting")
            parents = [await submit(house, parent, ORDER, name) for name in ("a", "b")]
            for run_id in parents:
                await house.state(run_id, "waiting")
            house.clock.advance(3600)
            await house.state(kid_id, "completed")
            for run_id in parents:
                await house.until(
                    run_id,
                    lambda run: (
                        run.state.ended or (run.state.value == "waiting" and (run.due_at or 0) > house.clock.now_us())
                    ),
                )
            house.clock.advance(11)  # the child woke whom it knows; the others look again by themselves
            for run_id in parents:
                assert (await house.state(run_id, "completed")).result == "7"
        house.clean()

    asyncio.run(story())


def test_a_parent_does_not_look_at_a_child_that_wakes_it(house: House) -> None:
    """Each look is a claim, a replay and a suspension: a day of them is thousands of entries."""

    @house.app.workflow(version=1, budget=BUDGET)
    async def kid(run: Run, order: Order) -> int:
        await run.sleep(24 * HOUR)
        return 7

    @house.app.workflow(version=1, budget=BUDGET)
    async def parent(run: Run, order: Order) -> int:
        later = run.branch(run.child(kid, ORDER, request_id="kid"))
        await run.sleep(HOUR)
        return await later

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, parent, ORDER, "r")
            await house.until(run_id, lambda run: run.state.value == "waiting" and house.count(run_id, "child") == 1)
            kid_id = next(data["run_id"] for kind, _, data in house.entries(run_id) if kind == "child")
            await house.state(kid_id, "waiting")  # its day has begun
            house.clock.advance(3600)
            run = await house.until(
                run_id, lambda run: run.state.value == "waiting" and house.count(run_id, "fired") == 1
            )
            assert (run.due_at or 0) > house.clock.now_us() + 12 * 3600 * 1_000_000
            house.clock.advance(23 * 3600)
            assert (await house.state(run_id, "completed", "parked")).result == "7"
        house.clean()

    asyncio.run(story())


def test_a_run_is_not_its_own_child(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def circle(run: Run, order: Order) -> int:
        return await run.child(house.app.registry.workflows[("circle", 1)], order, request_id="r")

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, circle, ORDER, "r")
            run = await house.state(run_id, "failed", "waiting")
        assert "its own child" in (run.failure or "")

    asyncio.run(story())


def test_a_parent_is_retried_once_its_child_was_mended(house: House) -> None:
    broken = [True]

    @house.app.workflow(version=1, budget=BUDGET)
    async def kid(run: Run, order: Order) -> int:
        if broken:
            raise ValueError("a defect, mended later")
        return 7

    @house.app.workflow(version=1, budget=BUDGET)
    async def parent(run: Run, order: Order) -> int:
        return await run.child(kid, order, request_id="kid")

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, parent, ORDER, "r")
            await house.state(run_id, "failed")
            broken.clear()
            with house.app.open().read() as reader:
                (child,) = reader.find(RunRecord, "parent_run_id", run_id)
            await house.app.runs.retry(child.run_id, by="ana")
            await house.state(child.run_id, "completed")
            await house.app.runs.retry(run_id, by="ana")
            sequence = house.run(run_id).sequence
            run = await house.until(run_id, lambda run: run.sequence > sequence and run.state.ended)
        assert run.result == "7"
        house.clean()

    asyncio.run(story())
