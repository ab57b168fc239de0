"""Several people approve, none of them who proposed, and what counts is who may still decide when it is sent."""

import asyncio
from typing import Any

import pytest

from counterfoil.engine.administration import RevokePerson
from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, reject, reviews_of, submit
from tests.engine.approvals import ORDER, THREE, doubted, not_sent, of_two, opened, refused, sent
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing


@pytest.mark.parametrize("signed", [False, True])
def test_two_different_people_approve(house_with_crm: House, crm: SandboxProcess, signed: bool) -> None:
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found(signed=signed)
        run_id, review = await opened(house, workflow)
        first = await house.app.reviews.approve(review.review_id, digest=review.digest, by="ana", secret=SECRET)
        assert (first["state"], first["decided"]) == ("open", "now")
        again = await house.app.reviews.approve(review.review_id, digest=review.digest, by="ana", secret=SECRET)
        assert (again["state"], again["decided"]) == ("open", "earlier")
        answers = house.app.reviews.show(review.review_id)["answers"]
        assert (answers["needed"], [each["person"] for each in answers["given"]]) == (2, ["ana"])
        async with house.working():
            await house.until(run_id, lambda run: run.state.value == "waiting" and run.due_at != house.clock.now_us())
        assert crm.records() == []
        await approve(house, review, by="oscar")
        assert reviews_of(house, run_id)[0].state.value == "approved"
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_one_rejection_rejects(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow)
        await approve(house, review, by="oscar")
        await reject(house, review)
        async with house.working():
            assert (await house.state(run_id, "parked")).reason == "review_rejected"
        assert crm.records() == []
        house.clean()

    asyncio.run(story())


def test_a_stand_in_counts_as_the_person_stood_in_for(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found(names=THREE, stand_ins={"mia": "ana"})
        run_id, review = await opened(house, workflow)
        await approve(house, review, by="mia")
        await approve(house, review, by="ana")
        assert reviews_of(house, run_id)[0].state.value == "open", "mia answered for ana"
        await approve(house, review, by="oscar")
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_a_stand_in_of_a_stand_in_counts_as_the_same_person(house_with_crm: House, crm: SandboxProcess) -> None:
    """mia stands in for oscar, who stands in for ana: any two of them are one, however often they answer."""
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found(names=("ana", "oscar", "mia", "lena"), stand_ins={"mia": "oscar", "oscar": "ana"})
        run_id, review = await opened(house, workflow)
        for name in ("oscar", "mia", "ana"):
            await approve(house, review, by=name)
            assert reviews_of(house, run_id)[0].state.value == "open", name
        await approve(house, review, by="lena")
        await sent(house, run_id, crm)

    asyncio.run(story())


@pytest.mark.parametrize("signed", [False, True])
def test_who_was_revoked_no_longer_counts(house_with_crm: House, crm: SandboxProcess, signed: bool) -> None:
    house = house_with_crm
    workflow = of_two(house)

    async def story() -> None:
        house.found(signed=signed, names=THREE)
        run_id, review = await opened(house, workflow)
        for name in ("ana", "oscar"):
            await approve(house, review, by=name)
        house.ask(RevokePerson(house.app.open().installation_id, "ana"))
        again = await not_sent(house, run_id, crm)
        for name in ("oscar", "mia"):
            await approve(house, again, by=name)
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_code_that_asks_for_more_is_not_content_with_less(house_with_crm: House, crm: SandboxProcess) -> None:
    """Between approval and sending the operation came to ask for two."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        house.app.close()
        house.app = house.new_app()
        of_two(house)
        again = await not_sent(house, run_id, crm)
        assert again.needed == 2
        for name in ("ana", "oscar"):
            await approve(house, again, by=name)
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_neither_of_two_who_approved_resolves_alone(blind_house: House, blind_crm: SandboxProcess) -> None:
    house, crm = blind_house, blind_crm
    workflow = writing(house.app, create_case(house.app, "none", review=True, approvals=2))

    async def story() -> None:
        house.found(names=THREE)
        run_id, review = await opened(house, workflow)
        for name in ("ana", "oscar"):
            await approve(house, review, by=name)
        await doubted(house, run_id, crm)
        (operation,) = house.operations(run_id)
        said: dict[str, Any] = {
            "as_": "succeeded", "secret": SECRET, "reason": "seen", "evidence": b"list", "reference": "c-1",
            "expect_version": operation.version,
        }  # fmt: skip
        for name in ("ana", "oscar"):
            with pytest.raises(Refused) as own:
                await house.app.operations.resolve(operation.operation_id, by=name, **said)
            assert own.value.code == "own_action"
        await house.app.operations.resolve(operation.operation_id, by="mia", **said)
        async with house.working():
            await house.state(run_id, "completed")
        house.clean()

    asyncio.run(story())


# ---------------------------------------------------------------------- who proposed


def test_who_submitted_does_not_approve_nor_does_a_stand_in(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(names=THREE, stand_ins={"mia": "ana"})
        run_id, review = await opened(house, workflow, by="ana")
        assert house.run(run_id).submitted_by == "ana"
        assert [await refused(house, review, name) for name in ("ana", "mia")] == ["own_proposal", "own_proposal"]
        await approve(house, review, by="oscar")
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_where_one_person_decides_alone_who_submitted_approves(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(single_person=True)
        run_id, review = await opened(house, workflow, by="ana")
        await approve(house, review)
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_a_child_is_proposed_by_who_submitted_its_parent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    child = writing(house.app, create_case(house.app, review=True))

    @house.app.workflow(version=1, budget=BUDGET)
    async def parent(run: Run, order: Order) -> Receipt:
        return await run.child(child, order, request_id="child")

    async def story() -> None:
        house.found()
        async with house.working():
            await house.app.runs.submit("parent", ORDER.model_dump(), request_id="r", by="ana")
            run_id = await child_of(house)
            review = await asked(house, run_id)
            assert await refused(house, review, "ana") == "own_proposal"
            await approve(house, review, by="oscar")
            await house.state(run_id, "completed")
        house.clean()

    async def child_of(house: House) -> str:
        parent_id = house.app.runs.list()["items"][-1]["run_id"]
        await house.until(parent_id, lambda run: run.state.value == "waiting")
        return house.app.runs.list(workflow="writing")["items"][0]["run_id"]

    asyncio.run(story())


@pytest.mark.parametrize("approvals", [0, -1])
def test_a_review_asks_for_one_approval_or_more(house: House, approvals: int) -> None:
    with pytest.raises(Refused) as wrong:
        create_case(house.app, review=True, approvals=approvals)
    assert wrong.value.code == "too_few_approvals"


def test_a_person_that_is_not_there_submits_nothing(house: House) -> None:
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        with pytest.raises(Refused) as nobody:
            await house.app.runs.submit(workflow.name, ORDER.model_dump(), request_id="r", by="nobody")
        assert nobody.value.code == "unknown_person"
        await submit(house, workflow, ORDER, "r")

    asyncio.run(story())
