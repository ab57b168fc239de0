"""Found by an adversary: who may answer for whom under one business key."""

import asyncio

import pytest

from counterfoil.engine.port import Run
from counterfoil.model.errors import ReviewExpired
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, reject, revising, submit
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case, writing

ONE, OTHER = Order(number="9", amount=1), Order(number="9", amount=2)


@pytest.mark.parametrize("revised", [False, True], ids=["freed and taken by another", "revised by the first"])
def test_a_receipt_of_other_content_is_no_answer(house_with_crm: House, crm: SandboxProcess, revised: bool) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)
    workflow, plain = revising(house, operation), writing(house.app, operation)

    async def story() -> None:
        house.found()
        async with house.working():
            first = await submit(house, workflow if revised else plain, ONE, "first")
            review = await asked(house, first)
            follower = await submit(house, plain, ONE, "follower")
            await house.state(follower, "waiting")
            assert house.operations(follower)[0].reused_from is not None
            await reject(house, review, ask_revision=revised)
            if revised:
                await approve(house, await asked(house, first, 2), by="oscar")
            else:
                await house.state(first, "parked")
                first = await submit(house, plain, OTHER, "another")
                await approve(house, await asked(house, first))
            await house.state(first, "completed")
            house.clock.advance(11)
            run = await house.state(follower, "parked", "completed")
        assert (run.state.value, run.reason) == ("parked", "business_key_conflict")
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_the_key_stands_for_the_version_that_was_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)
    workflow, plain = revising(house, operation), writing(house.app, operation)

    async def story() -> None:
        house.found()
        async with house.working():
            first = await submit(house, workflow, ONE, "first")
            await reject(house, await asked(house, first), ask_revision=True)
            await approve(house, await asked(house, first, 2), by="oscar")
            answer = (await house.state(first, "completed")).result
            replaced = await submit(house, plain, ONE, "as version 1")
            assert (await house.state(replaced, "parked", "completed")).reason == "business_key_conflict"
            equal = await submit(house, plain, OTHER, "as version 2")
            assert (await house.state(equal, "parked", "completed")).result == answer
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_revision_under_another_key_holds_neither_after_its_rejection(house_with_crm: House) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)
    workflow, plain = revising(house, operation, number="b"), writing(house.app, operation)

    async def story() -> None:
        house.found()
        async with house.working():
            first = await submit(house, workflow, ONE, "first")
            await reject(house, await asked(house, first), ask_revision=True)
            second = await asked(house, first, 2)
            (operation,) = house.operations(first)
            assert (operation.business_key or "").endswith("\x1f9b")
            old = await submit(house, plain, ONE, "the old key")
            await asked(house, old)  # it follows nobody: the old key is free from the revision on
            await reject(house, second)
            await house.state(first, "parked")
            new = await submit(house, plain, Order(number="9b"), "the new key")
            await asked(house, new)
        house.clean()

    asyncio.run(story())


def test_an_expired_wish_is_performed_anew_under_its_own_key(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def again(run: Run, order: Order) -> Receipt:
        try:
            return await run.perform(operation, order)
        except ReviewExpired:
            return await run.perform(operation, order)

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = await submit(house, again, ONE, "r")
            await asked(house, run_id)
            house.clock.advance(8 * 3600 + 1)
            await approve(house, await asked(house, run_id, 2), by="oscar")
            await house.state(run_id, "completed")
        first, second = house.operations(run_id)
        assert (first.status.value, first.sent, second.status.value, second.reused_from) == (
            "failed",
            0,
            "succeeded",
            None,
        )
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_cancelled_follower_does_not_wait_for_whom_it_follows(house_with_crm: House) -> None:
    house = house_with_crm
    plain = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            first = await submit(house, plain, ONE, "first")
            await asked(house, first)
            follower = await submit(house, plain, ONE, "follower")
            await house.state(follower, "waiting")
            await house.app.runs.cancel(follower, by="ana", reason="stop")
            await house.state(follower, "cancelled")
            assert house.run(first).state.value == "waiting"
        house.clean()

    asyncio.run(story())
