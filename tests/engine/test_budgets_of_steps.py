"""Budgets and steps: the first try is asked for as every other, and shared time counts what steps take, and no waiting."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.engine.budgets import held_by, shares_of
from counterfoil.engine.definitions import step
from counterfoil.engine.leases import Claim
from counterfoil.engine.port import Run
from counterfoil.engine.steps import DrawCall, EndStep
from counterfoil.engine.verb import Deadlines
from counterfoil.model.budget import BudgetRecord, Retry, SharedBudget
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case

HOURS = SharedBudget(name="time", scope="workflow", elapsed=timedelta(seconds=100), owner="ops")


def taking(
    house: House, seconds: int, begun: list[str], *, fails: int = 0
) -> Callable[[str], Coroutine[Any, Any, int]]:
    """A step that takes so long, and so many times fails at its end."""

    @step(retry=Retry(tries=9, pause=timedelta(0)))
    async def works(name: str) -> int:
        begun.append(name)
        house.clock.advance(seconds)
        if len(begun) <= fails:
            raise ConnectionError("out of reach")
        return 1

    return works


def row(house: House) -> tuple[int, int, int]:
    """(used, reserved, unmeasured): seconds, and lost tries."""
    with house.app.open().read() as reader:
        (found,) = reader.rows(BudgetRecord)
    used, reserved = (json.loads(text).get("elapsed_us", 0) // 1_000_000 for text in (found.used, found.reserved))
    return used, reserved, found.unmeasured


def test_no_step_is_begun_once_the_attempts_are_spent(house: House) -> None:
    """The one attempt there is was the send whose reply is lost. Asking is never stopped; the step behind it is not begun."""
    begun: list[str] = []
    works, operation = taking(house, 1, begun), create_case(house.app, "lookup")

    @house.app.workflow(version=1, budget=replace(BUDGET, attempts=1))
    async def goes_on(run: Run, order: Order) -> int:
        await run.perform(operation, order)
        return await run.step(works, "behind it")

    async def story() -> None:
        house.found()
        with SandboxProcess("lookup") as receiver:
            house.app.registry.receivers["crm"] = replace(house.app.registry.receivers["crm"], url=receiver.url)
            receiver.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(goes_on, Order(number="1"), request_id="1")
                run = await house.state(submitted.run_id, "parked")
                assert (run.reason, begun, house.operations(run.run_id)[0].status) == (
                    "budget_attempts",
                    [],
                    "succeeded",
                )
                assert "works was not begun" in run.sentence
                await house.app.runs.resume(run.run_id, by="ana", raises={"attempts": 2})
                await submitted.result()
        assert begun == ["behind it"]
        house.clean()

    asyncio.run(story())


def test_no_step_is_begun_once_the_time_of_the_run_is_over(house: House) -> None:
    begun: list[str] = []
    works = taking(house, 60, begun)

    @house.app.workflow(version=1, budget=replace(BUDGET, elapsed=timedelta(seconds=100)))
    async def long(run: Run, order: Order) -> int:
        for name in ("first", "second", "third"):
            await run.step(works, name)
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(long, Order(number="1"), request_id="1")
            assert (await house.state(submitted.run_id, "parked")).reason == "budget_elapsed"
            assert begun == ["first", "second"]
            house.clock.advance(3600)  # until its owner comes: that does not count
            await house.app.runs.resume(submitted.run_id, by="ana", raises={"elapsed": 200})
            await submitted.result()

    asyncio.run(story())


def test_shared_time_counts_the_tries_of_steps_and_no_waiting(house: House) -> None:
    begun: list[str] = []
    works = taking(house, 30, begun, fails=1)
    house.app.budget(HOURS)

    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> int:
        await run.step(works, "first")
        await run.wait_for("go on", Order, within=timedelta(days=1))
        return await run.step(works, "second") + await run.step(works, "third")

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(waits, Order(number="1"), request_id="1")
            await house.state(submitted.run_id, "waiting")
            assert (begun, row(house)) == (["first", "first"], (60, 0, 0)), "the failed try counts as well"
            house.clock.advance(3600)
            await house.app.signal(submitted.run_id, "go on", Order(number="1"), signal_id="s")
            await submitted.result()
            assert (begun[2:], row(house)) == (["second", "third"], (120, 0, 0))
            other = await house.app.submit(waits, Order(number="2"), request_id="2")
            run = await house.state(other.run_id, "parked")
            assert (run.reason, run.owner, len(begun)) == ("budget_elapsed", "ops", 4)
            await house.app.budgets.lift("1", by="oscar", secret=SECRET, reason="seen", raises={"elapsed": 900})
            await house.state(other.run_id, "waiting")
            assert row(house) == (150, 0, 0)
        house.clean()

    asyncio.run(story())


def test_a_lost_try_keeps_its_reserve_as_used(house: House) -> None:
    works = taking(house, 0, [])
    house.app.budget(HOURS)

    @house.app.workflow(version=1, budget=BUDGET)
    async def one(run: Run, order: Order) -> int:
        return await run.step(works, "only")

    async def story() -> None:
        house.found()
        run_id = (await house.app.submit(one, Order(number="1"), request_id="1")).run_id
        registry, deadlines = house.app.registry, Deadlines()
        run = house.ask(Claim(run_id, "wrk_1", deadlines))

        def draw() -> DrawCall:
            shares, held = shares_of(registry, run, "works", house.clock.now_us()), held_by(house.run(run_id), {"1"})
            return DrawCall(run_id, run.fence, "1", "works", None, "works", deadlines, shares, False, held)

        house.ask(draw())
        assert row(house) == (0, 60, 0)
        again: Any = draw()
        house.ask(again)  # the worker that had begun it is gone
        assert row(house) == (60, 60, 1)
        house.clock.advance(7)
        house.ask(EndStep(run_id, run.fence, "1", "works", {"in": None, "out": 1}, deadlines, timed=again.timed))
        assert row(house) == (67, 0, 1)
        house.clean()

    asyncio.run(story())
