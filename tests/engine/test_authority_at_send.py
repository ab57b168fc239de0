"""Grants, amounts and the submitter's right: weighed when the answer is given, and again when it is sent."""

import asyncio

import pytest

from counterfoil.engine.administration import RevokePerson
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve
from tests.engine.approvals import THREE, doubted, granted, not_sent, opened, refused, sent, withdraw
from tests.engine.house import SECRET, House
from tests.engine.writes import create_case, writing


def test_an_answer_is_bounded_by_amount(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow)
        assert house.app.reviews.show(review.review_id)["amount"] == {"minor": 700, "currency": "EUR"}
        low = granted(house, up_to=699)
        assert await refused(house, review, "ana") == "not_permitted"
        granted(house, up_to=700)
        withdraw(house, low)
        await approve(house, review)
        await sent(house, run_id, crm)

    asyncio.run(story())


@pytest.mark.parametrize("lowered", [True, False])
def test_a_grant_that_is_taken_back_or_lowered_forbids_sending(
    house_with_crm: House, crm: SandboxProcess, lowered: bool
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found(signed=True)
        high = granted(house, up_to=1000)
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        withdraw(house, high)
        if lowered:
            granted(house, up_to=500)
        again = await not_sent(house, run_id, crm)
        assert await refused(house, again, "ana") == "not_permitted"

    asyncio.run(story())


def test_a_withdrawal_and_a_resolution_are_bounded_by_amount(blind_house: House, blind_crm: SandboxProcess) -> None:
    house, crm = blind_house, blind_crm
    workflow = writing(house.app, create_case(house.app, "none", review=True))

    async def story() -> None:
        house.found(names=THREE)
        for verb in ("answer", "withdraw"):
            granted(house, verb=verb, up_to=700 if verb == "answer" else 600)
        granted(house, role="lead", verb="resolve", up_to=699)
        granted(house, role="ops", verb="read")
        run_id, review = await opened(house, workflow)
        await approve(house, review)
        with pytest.raises(Refused) as taken_back:
            await house.app.reviews.withdraw(review.review_id, by="oscar", secret=SECRET)
        assert taken_back.value.code == "not_permitted"
        await doubted(house, run_id, crm)
        (operation,) = house.operations(run_id)
        with pytest.raises(Refused) as judged:
            await house.app.operations.resolve(
                operation.operation_id, as_="succeeded", by="oscar", secret=SECRET, reason="seen", evidence=b"list",
                reference="c-1", expect_version=operation.version,
            )  # fmt: skip
        assert judged.value.code == "not_permitted"

    asyncio.run(story())


def test_the_submitter_must_still_be_allowed_to(house_with_crm: House, crm: SandboxProcess) -> None:
    """Lost after the approval: the reviewer is asked again, and knows; approved anew it is sent."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run_id, review = await opened(house, workflow, by="ana")
        await approve(house, review, by="oscar")
        house.ask(RevokePerson(house.app.open().installation_id, "ana"))
        again = await not_sent(house, run_id, crm)
        house.clock.advance(1)
        await approve(house, again, by="oscar")
        await sent(house, run_id, crm)

    asyncio.run(story())


def test_a_right_to_submit_that_was_taken_back_forbids_sending(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        for role in ("ops", "lead"):
            granted(house, role=role, verb="read")
        granted(house)
        may_submit = granted(house, verb="submit")
        run_id, review = await opened(house, workflow, by="ana")
        await approve(house, review, by="oscar")
        house.clock.advance(1)
        withdraw(house, may_submit)
        await not_sent(house, run_id, crm)

    asyncio.run(story())
