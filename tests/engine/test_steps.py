"""Steps: recorded once, tried again, final when they say so, and stopped by their budget."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from counterfoil.app import App
from counterfoil.engine.definitions import Workflow, step
from counterfoil.engine.port import Run
from counterfoil.model.budget import Retry
from counterfoil.model.errors import StepFailed
from tests.engine.house import BUDGET, House, Order


def test_a_result_is_recorded_once_and_the_run_completes(house: House) -> None:
    calls: list[str] = []

    async def read(number: str) -> str:
        calls.append(number)
        return f"order {number}"

    @house.app.workflow(version=1, budget=BUDGET)
    async def one(run: Run, order: Order) -> str:
        first = await run.step(read, order.number)
        return first + await run.step(read, "second")

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(one, Order(number="1"), request_id="r")
            assert await submitted.result() == "order 1order second"
            again = await house.app.submit(one, Order(number="1"), request_id="r")
            assert again.admitted == "existing"
            assert await again.result() == "order 1order second"
        assert calls == ["1", "second"]
        house.clean()

    asyncio.run(story())


def test_a_plain_function_runs_in_a_thread(house: House) -> None:
    def read(number: str) -> str:
        return number.upper()

    @house.app.workflow(version=1, budget=BUDGET)
    async def plain(run: Run, order: Order) -> str:
        return await run.step(read, "abc")

    async def story() -> None:
        house.found()
        async with house.working():
            assert await (await house.app.submit(plain, Order(number="1"), request_id="r")).result() == "ABC"

    asyncio.run(story())


def test_a_failed_try_is_tried_again_after_its_pause(house: House) -> None:
    calls: list[int] = []

    @step(retry=Retry(tries=3, pause=timedelta(seconds=10)))
    async def flaky() -> int:
        calls.append(1)
        if len(calls) < 3:
            raise OSError("not yet")
        return len(calls)

    @house.app.workflow(version=1, budget=BUDGET)
    async def retried(run: Run, order: Order) -> int:
        return await run.step(flaky)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(retried, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            assert len(calls) == 1
            house.clock.advance(10)
            await house.until(submitted.run_id, lambda run: run.failed_tries == 2 and run.state.value == "waiting")
            house.clock.advance(20)
            assert await submitted.result() == 3
        assert house.count(submitted.run_id, "try_failed") == 2
        house.clean()

    asyncio.run(story())


def test_a_step_failed_is_final_and_the_workflow_may_answer_it(house: House) -> None:
    calls: list[int] = []

    async def broken() -> int:
        calls.append(1)
        raise StepFailed("no_such_charge", "there is no such charge")

    @house.app.workflow(version=1, budget=BUDGET)
    async def answered(run: Run, order: Order) -> str:
        try:
            await run.step(broken)
        except StepFailed as failure:
            await run.sleep(timedelta(hours=1))  # a replay must tell the same failure
            return f"{failure.code}: {failure.message}"
        return "no failure"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(answered, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(3600)
            assert await submitted.result() == "no_such_charge: there is no such charge"
        assert len(calls) == 1

    asyncio.run(story())


def test_an_unanswered_failure_parks_and_a_retry_tries_again(house: House) -> None:
    calls: list[int] = []

    async def once_broken() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise StepFailed("down", "the other side is down")
        return 7

    @house.app.workflow(version=1, budget=BUDGET)
    async def unanswered(run: Run, order: Order) -> int:
        return await run.step(once_broken)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(unanswered, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert (run.reason, run.owner) == ("step_failed", "lead") and run.deadline_at is not None
            await house.app.runs.retry(submitted.run_id, by="ana")
            assert await submitted.result() == 7
        house.clean()

    asyncio.run(story())


def test_a_spent_budget_of_attempts_parks_and_can_be_raised(house: House) -> None:
    calls: list[int] = []

    @step(retry=Retry(tries=100, pause=timedelta(0)))
    async def failing() -> int:
        calls.append(1)
        if len(calls) <= 5:
            raise ValueError("wrong")
        return 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def spends(run: Run, order: Order) -> int:
        return await run.step(failing)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(spends, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "budget_attempts" and run.failed_tries == 5 and len(calls) == 5
            house.clock.advance(3600)
            assert len(calls) == 5, "no further automatic action"
            await house.app.runs.resume(submitted.run_id, raises={"attempts": "9"}, by="ana", reason="it is up again")
            assert await submitted.result() == 1
        (resumed,) = [data for kind, _, data in house.entries(submitted.run_id) if kind == "resumed"]
        assert (resumed["by"], resumed["raises"], resumed["reason"]) == ("ana", {"attempts": 9}, "it is up again")
        house.clean()

    asyncio.run(story())


def test_another_exception_ends_the_run_failed(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def wrong(run: Run, order: Order) -> int:
        raise KeyError("nothing like that")

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(wrong, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "failed")
            assert "KeyError" in (run.failure or "")

    asyncio.run(story())


def test_changed_code_parks_naming_both_sides(house: House) -> None:
    async def first(n: int) -> int:
        return n

    async def other(n: int) -> int:
        return n

    def registered(app: App, called: Callable[[int], Awaitable[int]]) -> Workflow[Any, Any]:
        async def changing(run: Run, order: Order) -> int:
            await run.step(called, 1)
            await run.sleep(timedelta(hours=1))
            return 1

        return app.workflow(version=1, budget=BUDGET)(changing)

    async def story() -> None:
        house.found()
        workflow = registered(house.app, first)
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
        house.app.close()
        house.app = house.new_app()
        registered(house.app, other)
        async with house.working():
            house.clock.advance(3600)
            run = await house.state(submitted.run_id, "parked")
        assert run.reason == "code_changed" and "first" in run.sentence and "other" in run.sentence
        house.clean()

    asyncio.run(story())


def test_a_version_that_no_worker_has_parks_the_run(house: House) -> None:
    async def story() -> None:
        house.found()

        @house.app.workflow(version=1, budget=BUDGET)
        async def versioned(run: Run, order: Order) -> int:
            return 1

        submitted = await house.app.submit(versioned, Order(number="1"), request_id="r")
        house.app.close()
        house.app = house.new_app()
        newer = Workflow("versioned", 2, versioned.function, BUDGET)
        house.app.registry.add_workflow(newer)
        async with house.working():
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "code_changed" and "version 1" in run.sentence

    asyncio.run(story())


def test_deadlines_are_entries_that_move_the_run(house: House) -> None:
    """Pending too long without code: no_worker; a parked run goes to its next owner."""

    async def story() -> None:
        house.found()

        @house.app.workflow(version=1, budget=BUDGET)
        async def lonely(run: Run, order: Order) -> int:
            return 1

        submitted = await house.app.submit(lonely, Order(number="1"), request_id="r")
        house.app.close()
        house.app = house.new_app()
        async with house.working():
            house.clock.advance(16 * 60)
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "no_worker"
            house.clock.advance(25 * 3600)
            await house.until(
                submitted.run_id, lambda run: run.deadline_at is not None and run.deadline_at > house.clock.now_us()
            )
        house.clean()

    asyncio.run(story())


def test_a_worker_with_the_code_takes_up_what_was_parked_for_want_of_it(house: House) -> None:
    async def story() -> None:
        house.found()

        @house.app.workflow(version=1, budget=BUDGET)
        async def wanted(run: Run, order: Order) -> int:
            return 7

        submitted = await house.app.submit(wanted, Order(number="1"), request_id="r")
        house.app.close()
        house.app = house.new_app()
        async with house.working():
            house.clock.advance(16 * 60)
            assert (await house.state(submitted.run_id, "parked")).reason == "no_worker"
        house.app.close()
        house.app = house.new_app()
        house.app.registry.add_workflow(wanted)
        async with house.working():
            assert (await house.state(submitted.run_id, "completed")).result == "7"
        house.clean()

    asyncio.run(story())
