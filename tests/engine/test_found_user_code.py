"""Found by an adversary and an auditor: what user code may do without taking its worker along, and who moves a run then."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from counterfoil.engine import runner
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Call, Run
from counterfoil.model.errors import Refused, StepFailed
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import submit
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import contract, writing

ORDER = Order(number="1")
LARGE = "x" * 100_000


class Mute(Exception):
    """It cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


async def _mute() -> int:
    raise Mute


async def _cancelled() -> int:
    raise asyncio.CancelledError


async def _leaves() -> int:
    raise SystemExit(3)


def _runs_dry() -> int:
    return next(iter(list[int]()))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (_mute, "Mute"),
        (_cancelled, "cancelled"),
        (_leaves, "asked the process to end: 3"),
        (_runs_dry, "StopIteration"),
    ],
)
def test_however_a_step_ends_it_was_a_try(house: House, body: Callable[[], Any], said: str) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def stepping(run: Run, order: Order) -> int:
        return await run.step(body)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, stepping, ORDER, "r")
            await house.state(run_id, "waiting", "failed", "parked")
        (problem,) = [data["problem"] for kind, _, data in house.entries(run_id) if kind == "try_failed"]
        assert said in problem
        assert house.run(run_id).crashes == 0
        house.clean()

    asyncio.run(story())


@pytest.mark.parametrize("error", [Mute, asyncio.CancelledError])
def test_however_a_workflow_ends_the_run_says_so(house: House, error: type[BaseException]) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def raising(run: Run, order: Order) -> int:
        raise error

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, raising, ORDER, "r")
            run = await house.state(run_id, "failed")
        assert error.__name__ in (run.failure or "")
        house.clean()

    asyncio.run(story())


def test_a_result_that_is_no_json_is_final_and_named(house: House) -> None:
    async def measured() -> float:
        return float("nan")

    @house.app.workflow(version=1, budget=BUDGET)
    async def measuring(run: Run, order: Order) -> float:
        return await run.step(measured)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, measuring, ORDER, "r")
            run = await house.state(run_id, "parked", "waiting")
        assert (run.reason, house.count(run_id, "try_failed")) == ("step_failed", 0)
        assert "the result of measured" in (run.failure or "")
        house.clean()

    asyncio.run(story())


def test_an_operation_that_writes_nothing_is_tried_at_its_pauses(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    calls: list[str] = []

    async def create_case(call: Call, order: Order) -> Receipt:
        calls.append(order.number)
        if len(calls) > BUDGET.attempts:
            await asyncio.Event().wait()  # a busy loop would never let the test look
        return Receipt(reference="made up")

    operation = house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")(
        create_case
    )
    workflow = writing(house.app, operation)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            for tries in range(1, BUDGET.attempts):
                await house.until(
                    run_id, lambda run, n=tries: run.state.value == "waiting" and house.count(run_id, "try_failed") == n
                )
                assert len(calls) == tries
                house.clock.advance(400)
            assert (await house.state(run_id, "parked")).reason == "budget_attempts"
        assert (len(calls), len(crm.records())) == (BUDGET.attempts, 0)
        house.clean()

    asyncio.run(story())


def test_a_step_that_hangs_is_moved_while_its_worker_lives(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()
    monkeypatch.setattr(runner, "UNWIND_S", 0.0)  # how long it may take to leave, before it is cancelled

    async def hangs() -> int:
        started.set()
        await asyncio.Event().wait()
        return 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def hanging(run: Run, order: Order) -> int:
        return await run.step(hangs)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, hanging, ORDER, "r")
            await started.wait()
            house.clock.advance(31 * 60)
            assert (await house.state(run_id, "parked")).reason == "no_progress"
        house.clean()

    asyncio.run(story())


def test_a_fence_that_is_lost_is_no_problem_of_the_worker(house: House) -> None:
    """Another worker took the run over. This one lets go of it quietly, and may take it again."""
    started, released = asyncio.Event(), asyncio.Event()

    async def slow() -> int:
        started.set()
        await released.wait()
        return 1

    @house.app.workflow(version=1, budget=BUDGET)
    async def working(run: Run, order: Order) -> int:
        return await run.step(slow)

    async def story() -> None:
        house.found()
        async with house.working() as worker:  # asserts at its end that there was no problem
            run_id = await submit(house, working, ORDER, "r")
            await started.wait()
            opened, run = house.app.open(), house.run(run_id)
            await opened.write(HolderGone(run_id, worker.worker_id, run.fence))
            taken: RunRecord = await opened.write(Claim(run_id, "wrk_other", opened.deadlines))
            assert taken.fence == run.fence + 1
            house.clock.advance(11)  # a third of the lease: it is renewed, or not
            released.set()
            house.clock.advance(31)
            await house.state(run_id, "completed")
        house.clean()

    asyncio.run(story())


def test_a_fence_that_is_lost_at_a_suspension_is_none_either(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    suspend, thieves = runner.Runner._suspend, list[RunRecord]()

    def stolen(driver: runner.Runner, waits: list[Any]) -> Any:
        if not thieves:
            run, writer = driver.run, driver.opened.writer
            writer.ask(HolderGone(run.run_id, run.worker_id or "", run.fence))
            thieves.append(writer.ask(Claim(run.run_id, "wrk_other", driver.opened.deadlines)))
        return suspend(driver, waits)

    monkeypatch.setattr(runner.Runner, "_suspend", stolen)

    @house.app.workflow(version=1, budget=BUDGET)
    async def sleeping(run: Run, order: Order) -> int:
        await run.sleep(timedelta(hours=1))
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, sleeping, ORDER, "r")
            await house.until(run_id, lambda run: run.worker_id == "wrk_other")
            house.clock.advance(31)  # the other's lease
            await house.state(run_id, "waiting")
            house.clock.advance(3600)
            await house.state(run_id, "completed")
        assert len(thieves) == 1
        house.clean()

    asyncio.run(story())


class Large:
    """Answers more than the journal holds."""

    output_type = str
    name = "clerk"
    model = "test:large"

    async def run(self, prompt: Any) -> Any:
        return type("Answer", (), {"output": LARGE})()


@pytest.mark.parametrize("what", ["message", "document", "decision", "failure"])
def test_what_is_too_large_never_reaches_the_journal(house: House, what: str) -> None:
    async def fails() -> int:
        raise StepFailed("large", LARGE)

    @house.app.workflow(version=1, budget=BUDGET)
    async def large(run: Run, order: Order) -> int:
        if what == "message":
            await run.message("user", LARGE)
        elif what == "document":
            await run.document("letter", LARGE)
        elif what == "decision":
            await run.decide(Large(), "hello", prompt_version="1")
        else:
            await run.step(fails)
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, large, ORDER, "r")
            run = await house.state(run_id, "failed", "parked", "waiting", "completed")
        # A decision is kept whole, as an artifact; its entry names the digest.
        assert run.state.value == {"failure": "parked", "decision": "completed"}.get(what, "failed")
        with house.app.open().read() as reader:
            assert max(len(entry.body) for entry in reader.entries(run_id)) < 20_000
        assert len(run.failure or "") + len(run.sentence) < 20_000
        house.clean()

    asyncio.run(story())


class Note(BaseModel):
    """What a signal of the test brings."""

    text: str


def test_a_signal_that_is_too_large_is_refused(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def waits(run: Run, order: Order) -> str:
        return (await run.wait_for("note", Note, within=timedelta(days=1))).text

    async def story() -> None:
        house.found()
        run_id = await submit(house, waits, ORDER, "r")
        with pytest.raises(Refused) as refused:
            await house.app.signal(run_id, "note", Note(text=LARGE), signal_id="s")
        assert refused.value.code == "too_large"
        assert house.count(run_id, "signal") == 0

    asyncio.run(story())
