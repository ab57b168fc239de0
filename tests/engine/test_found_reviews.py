"""Found by an adversary: verdicts that nobody could move on from, and stops that end between a ruling and a wait."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from counterfoil.engine.advance import Advance
from counterfoil.engine.execution import Execution
from counterfoil.engine.port import Run
from counterfoil.engine.runner import Runner
from counterfoil.model.errors import Refused, ReviewExpired
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, reject, reviews_of, revising, submit
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing

ORDER = Order(number="1")


def test_a_resume_after_a_revision_that_did_not_come_asks_again(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            await reject(house, await asked(house, run_id), ask_revision=True)
            assert (await house.state(run_id, "parked")).reason == "review_rejected"
            await house.app.runs.resume(run_id, by="ana")
            await asked(house, run_id, 2)
            ruled = house.count(run_id, "ruled")
            house.clock.advance(8 * 3600 + 1)  # and when its time is over, nobody rules in circles
            assert (await house.state(run_id, "parked")).reason == "review_expired"
            assert house.count(run_id, "ruled") <= ruled + 2
            await house.app.runs.resume(run_id, by="ana")
            await approve(house, await asked(house, run_id, 3))
            await house.state(run_id, "completed")
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_an_expiry_is_told_once_to_each_call(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def patient(run: Run, order: Order) -> Receipt:
        proposal = await run.propose(operation, order)
        for _ in range(10):
            try:
                return await run.perform(operation, proposal)
            except ReviewExpired:
                continue
        raise ValueError("each call was told the same expiry")

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, patient, ORDER, "r")
            await asked(house, run_id)
            house.clock.advance(8 * 3600 + 1)
            assert (await house.state(run_id, "waiting", "failed")).state.value == "waiting"
            await asked(house, run_id, 2)
            house.clock.advance(8 * 3600 + 1)
            await approve(house, await asked(house, run_id, 3))
            assert (await house.state(run_id, "completed", "failed")).state.value == "completed"
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_what_never_left_may_be_revised(house: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver refuses the connection; the reviewer takes the approval back, to change it."""
    workflow = revising(house, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            review = await asked(house, run_id)
            await approve(house, review)
            await house.until(
                run_id, lambda run: run.state.value == "waiting" and house.operations(run_id)[0].attempts == 1
            )
            monkeypatch.setenv("CRM_URL", crm.url)
            await house.app.reviews.withdraw(
                review.review_id, by="ana", secret=SECRET, comment="one more", ask_revision=True
            )
            assert (await house.state(run_id, "waiting", "failed")).state.value == "waiting"
            second = await asked(house, run_id, 2)
            await approve(house, second, by="oscar")  # who asked for another version does not approve it
            house.clock.advance(60)  # the pause after the first try
            await house.state(run_id, "completed")
        assert [record["payload_digest"] for record in crm.records()] == [second.digest]
        house.clean()

    asyncio.run(story())


def test_an_answer_between_a_ruling_and_its_wait_is_heard(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))
    write, answered = Execution.write, list[str]()

    async def write_and_answer(execution: Execution, verb: Any) -> Any:
        outcome = await write(execution, verb)
        reviews = [] if not isinstance(verb, Advance) or answered else reviews_of(house, verb.run_id)
        if reviews:
            answered.append(reviews[0].review_id)
            await approve(house, reviews[0])
        return outcome

    monkeypatch.setattr(Execution, "write", write_and_answer)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            assert (await house.state(run_id, "completed", "waiting")).state.value == "completed"
        assert (len(answered), len(crm.records())) == (1, 1)
        house.clean()

    asyncio.run(story())


def test_a_stop_that_ends_between_a_ruling_and_the_park_parks_nobody(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))
    park, lifted = Runner._park, list[str]()

    async def lift_and_park(runner: Runner, *given: Any, **named: Any) -> bool:
        if not lifted:
            lifted.append(runner.run.run_id)
            await house.app.writes.resume(by="ana", secret=SECRET, reason="over", all_=True)
        return await park(runner, *given, **named)

    monkeypatch.setattr(Runner, "_park", lift_and_park)

    async def story() -> None:
        house.found()
        await house.app.writes.suspend(by="ana", reason="fire", all_=True)
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            assert (await house.state(run_id, "completed", "parked")).state.value == "completed"
        assert (lifted, len(crm.records())) == ([run_id], 1)
        house.clean()

    asyncio.run(story())


def test_what_is_prepared_after_a_cancel_is_never_sent(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver of another process has not heard of the cancel yet."""
    house = house_with_crm
    operation = create_case(house.app)
    started, cancelled = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(Runner, "foreign_entries", lambda runner: None)

    @house.app.workflow(version=1, budget=BUDGET)
    async def deaf(run: Run, order: Order) -> Receipt:
        started.set()
        await cancelled.wait()
        return await run.perform(operation, order)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, deaf, ORDER, "r")
            await started.wait()
            await house.app.runs.cancel(run_id, by="ana", reason="stop")
            cancelled.set()
            assert (await house.state(run_id, "cancelled", "completed")).state.value == "cancelled"
        (withdrawn,) = house.operations(run_id)
        assert (withdrawn.status.value, withdrawn.withdrawn, len(crm.records())) == ("failed", "cancelled", 0)
        house.clean()

    asyncio.run(story())


def test_a_stand_in_approves_and_whom_it_stands_in_for_may_not_resolve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together they would be the one person who approves and resolves alone."""

    async def story(house: House, crm: SandboxProcess) -> None:
        workflow = writing(house.app, create_case(house.app, "none", review=True))
        house.found()
        await house.app.people.add("zoe", roles=[], secret="zoe's", stand_in_for="ana")
        crm.fault("drop-reply")
        async with house.working():
            run_id = await submit(house, workflow, ORDER, "r")
            review = await asked(house, run_id)
            await house.app.reviews.approve(review.review_id, digest=review.digest, by="zoe", secret="zoe's")
            await house.until(run_id, lambda run: run.failed_tries == 1 and run.state.value == "waiting")
            house.clock.advance(60)
            assert (await house.state(run_id, "parked")).reason == "outcome_unknown"
            (operation,) = house.operations(run_id)

            async def resolve(by: str) -> None:
                await house.app.operations.resolve(
                    operation.operation_id, as_="succeeded", by=by, secret=SECRET, reason="seen", evidence=b"list",
                    reference="case-1", expect_version=operation.version,
                )  # fmt: skip

            with pytest.raises(Refused) as own:
                await resolve("ana")
            assert own.value.code == "own_action"
            await resolve("oscar")
            await house.state(run_id, "completed")
        house.clean()

    with SandboxProcess("none") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        asyncio.run(story(house, crm))
        house.app.close()
