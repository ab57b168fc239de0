"""Found by an adversary: executions that saw something else at a replay, or stood still although they could go on."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.engine.branches import Branch
from counterfoil.engine.call_wait import gather
from counterfoil.engine.clock import breathe
from counterfoil.engine.execution import Execution
from counterfoil.engine.port import Run
from counterfoil.model.errors import ReviewExpired, TimedOut
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, reject, reviews_of, submit
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case

ORDER = Order(number="1")
HOUR, LONG = timedelta(hours=1), timedelta(days=9)


def _waits(house: House, kind: str, times: int) -> Callable[[RunRecord], bool]:
    """The run waits, after so many entries of a kind."""
    return lambda run: run.state.value == "waiting" and house.count(run.run_id, kind) == times


def test_a_timeout_around_branches_ends_all_of_them_at_a_replay_too(house: House) -> None:
    released = asyncio.Event()

    async def slow(name: str) -> str:
        await released.wait()
        return name

    async def quick() -> str:
        return "quick"

    @house.app.workflow(version=1, budget=BUDGET)
    async def limited(run: Run, order: Order) -> list[str]:
        async def works(name: str) -> str:
            try:
                return await run.step(slow, name)
            except TimedOut:
                return "over"

        async def waits() -> str:
            for _ in range(4):
                await run.step(quick)
            try:
                await run.wait_for("never", Order, within=LONG)
            except TimedOut:
                return "over"
            return "came"

        async with run.timeout(timedelta(minutes=10)):
            told = await run.gather(works("x"), works("y"), waits())
        await run.sleep(HOUR)
        return told

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, limited, ORDER, "r")
            await house.until(run_id, lambda run: house.count(run_id, "timer") == 2)
            house.clock.advance(601)
            await house.until(run_id, lambda run: house.count(run_id, "fired") == 1)
            released.set()
            await house.until(run_id, _waits(house, "step", 6))
            house.clock.advance(3600)
            assert (await house.state(run_id, "completed")).result == '["over","over","over"]'
        house.clean()

    asyncio.run(story())


def test_the_timeout_that_fired_first_is_told_at_every_replay(house: House) -> None:
    told: list[tuple[str, str, float]] = []

    @house.app.workflow(version=1, budget=BUDGET)
    async def nested(run: Run, order: Order) -> str:
        try:
            async with run.timeout(5 * HOUR):
                try:
                    async with run.timeout(HOUR):
                        await run.wait_for("never", Order, within=LONG)
                except TimedOut as over:
                    told.append((str(run.now()), str(over), run.random()))
                await run.wait_for("never", Order, within=LONG)
        except TimedOut:
            await run.sleep(HOUR)
        return told[-1][0]

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, nested, ORDER, "r")
            await house.until(run_id, _waits(house, "timer", 3))
            house.clock.advance(3600)
            await house.until(run_id, _waits(house, "fired", 1))
            house.clock.advance(4 * 3600)
            await house.until(run_id, _waits(house, "fired", 2))
            house.clock.advance(3600)
            await house.state(run_id, "completed")
        assert len(told) == 3
        assert len(set(told)) == 1
        house.clean()

    asyncio.run(story())


def test_a_gather_of_nothing_is_an_empty_list(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def empty(run: Run, order: Order) -> list[Any]:
        return await run.gather()

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, empty, ORDER, "r")
            assert (await house.state(run_id, "completed", "failed")).result == "[]"

    asyncio.run(story())


@pytest.mark.parametrize("verdict", ["rejected", "expired"])
def test_the_first_version_is_told_its_own_verdict_after_the_second_was_sent(
    house_with_crm: House, crm: SandboxProcess, verdict: str
) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def twice(run: Run, order: Order) -> str:
        first = await run.propose(operation, order)
        try:
            receipt: Receipt = await run.perform(operation, first)
        except Exception as told:
            again = await run.propose(operation, Order(number="1", amount=2), replaces=first)
            await run.perform(operation, again)
            await run.sleep(HOUR)
            return type(told).__name__
        return receipt.reference

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, twice, ORDER, "r")
            review = await asked(house, run_id)
            if verdict == "rejected":
                await reject(house, review, ask_revision=True)
            else:
                house.clock.advance(8 * 3600 + 1)
            await approve(house, await asked(house, run_id, 2), by="oscar")
            await house.until(run_id, _waits(house, "closed", 1))
            house.clock.advance(3600)
            run = await house.state(run_id, "completed", "parked", "failed")
        assert run.result == {"rejected": '"ReviewRejected"', "expired": '"ReviewExpired"'}[verdict]
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_verdict_that_was_answered_is_not_asked_for_again_by_a_retry(house_with_crm: House) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)
    broken = [True]

    @house.app.workflow(version=1, budget=BUDGET)
    async def answers(run: Run, order: Order) -> str:
        try:
            receipt: Receipt = await run.perform(operation, order)
        except ReviewExpired:
            if broken:
                raise ValueError("a defect, mended later") from None
            return "nobody answered"
        return receipt.reference

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, answers, ORDER, "r")
            await asked(house, run_id)
            house.clock.advance(8 * 3600 + 1)
            await house.state(run_id, "failed")
            broken.clear()
            await house.app.runs.retry(run_id, by="ana")
            assert (await house.state(run_id, "completed", "waiting", "parked")).result == '"nobody answered"'
        assert len(reviews_of(house, run_id)) == 1
        house.clean()

    asyncio.run(story())


def test_a_signal_goes_to_the_call_that_still_waits(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def patient(run: Run, order: Order) -> int:
        try:
            async with run.timeout(HOUR):
                await run.wait_for("paid", Order, within=LONG)
        except TimedOut:
            return (await run.wait_for("paid", Order, within=LONG)).amount
        return 0

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, patient, ORDER, "r")
            await house.state(run_id, "waiting")
            house.clock.advance(3600)
            await house.until(run_id, _waits(house, "timer", 3))
            await house.app.signal(run_id, "paid", Order(number="1", amount=5), signal_id="s")
            assert (await house.state(run_id, "completed", "parked", "failed")).result == "5"
        house.clean()

    asyncio.run(story())


def test_a_step_whose_time_was_over_is_not_tried_at_a_replay(house: House) -> None:
    tries: list[str] = []

    async def down() -> int:
        tries.append("try")
        raise ConnectionError("down")

    @house.app.workflow(version=1, budget=BUDGET)
    async def limited(run: Run, order: Order) -> str:
        try:
            async with run.timeout(timedelta(seconds=0.5)):  # the pause after the first try is a second
                await run.step(down)
        except TimedOut:
            await run.sleep(HOUR)
            await run.sleep(HOUR)
        return "over"

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, limited, ORDER, "r")
            await house.until(run_id, _waits(house, "try_failed", 1))
            house.clock.advance(0.6)
            for timers in (2, 3):
                await house.until(run_id, _waits(house, "timer", timers))
                house.clock.advance(3600)
            await house.state(run_id, "completed")
        assert tries == ["try"]
        house.clean()

    asyncio.run(story())


def test_a_wish_that_a_timeout_ended_is_withdrawn(house_with_crm: House, crm: SandboxProcess) -> None:
    """The workflow heard that it did not happen, and does something else: it must not be sent hours later."""
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def limited(run: Run, order: Order) -> str:
        try:
            async with run.timeout(HOUR):
                return (await run.perform(operation, order)).reference
        except TimedOut:
            await run.sleep(HOUR)
            return "something else"

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, limited, ORDER, "r")
            await asked(house, run_id)
            house.clock.advance(3600)
            await house.until(run_id, _waits(house, "closed", 1))
            assert reviews_of(house, run_id)[0].state.value == "superseded"  # nobody is asked any more
            house.clock.advance(3600)
            assert (await house.state(run_id, "completed", "parked", "failed")).result == '"something else"'
        (withdrawn,) = house.operations(run_id)
        assert (withdrawn.status.value, withdrawn.withdrawn, withdrawn.sent) == ("failed", "timed out", 0)
        assert len(crm.records()) == 0
        house.clean()

    asyncio.run(story())


def test_a_branch_is_gone_when_its_parent_may_go_on_and_not_before(house: House) -> None:
    """Between the two all seems to stand still: at every replay in the same turn of the loop, so for ever."""

    @house.app.workflow(version=1, budget=BUDGET)
    async def never(run: Run, order: Order) -> int:
        return 1

    async def body() -> int:
        await breathe()
        return 1

    async def story() -> None:
        house.found()
        run = house.run(await submit(house, never, ORDER, "r"))
        execution = Execution(house.app.open(), run, never, "wrk")
        assert execution.branches == [execution.root]
        whole = asyncio.create_task(gather(execution, [body(), body()]))
        stood_still: list[list[Branch]] = []
        while not whole.done():
            await breathe()
            if execution.idle():
                stood_still.append(list(execution.branches))
        assert (await whole, stood_still) == ([1, 1], [])

    asyncio.run(story())
