"""Two questions of one run at once, and an answer that comes while nobody can use it."""

import asyncio
from collections.abc import Callable

import pytest

from counterfoil.engine.port import Run
from counterfoil.model.errors import ReviewRejected
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing


def _open(house: House, run_id: str) -> list[ReviewRecord]:
    with house.app.open().read() as reader:
        return [review for review in reader.find(ReviewRecord, "run_id", run_id) if review.state.value == "open"]


def _waits_for(house: House, questions: int, sent: int = 0) -> Callable[[RunRecord], bool]:
    """The run waits, so many questions are open and so many operations have a receipt."""

    def holds(run: RunRecord) -> bool:
        succeeded = [o for o in house.operations(run.run_id) if o.status.value == "succeeded"]
        return run.state.value == "waiting" and (len(_open(house, run.run_id)), len(succeeded)) == (questions, sent)

    return holds


@pytest.mark.parametrize("first", [0, 1])
def test_each_answer_goes_to_its_own_question(house_with_crm: House, crm: SandboxProcess, first: int) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def both(run: Run, order: Order) -> list[str]:
        async def one(number: str) -> str:
            try:
                receipt: Receipt = await run.perform(operation, Order(number=number))
            except ReviewRejected as rejected:
                return f"{number}: {rejected.comment}"
            return f"{number}: {receipt.reference}"

        return await run.gather(one("1"), one("2"))

    async def story() -> None:
        house.found()
        reviews = house.app.reviews
        async with house.working():
            submitted = await house.app.submit(both, Order(number="0"), request_id="r")
            await house.until(submitted.run_id, _waits_for(house, 2))
            asked = sorted(_open(house, submitted.run_id), key=lambda review: review.number)
            assert len({review.review_id for review in asked}) == 2
            assert len({review.digest for review in asked}) == 2
            yes, no = asked[first], asked[1 - first]
            await reviews.approve(yes.review_id, digest=yes.digest, by="ana", secret=SECRET)
            await house.until(submitted.run_id, _waits_for(house, 1, sent=1))
            (record,) = crm.records()
            await reviews.reject(no.review_id, digest=no.digest, by="oscar", secret=SECRET, comment="not this one")
            answers = await submitted.result()
        assert answers[first].endswith(str(record["id"]))
        assert answers[1 - first].endswith("not this one")
        assert len(crm.records()) == 1
        assert house.count(submitted.run_id, "in_flight") == 1
        house.clean()

    asyncio.run(story())


def test_an_answer_that_comes_while_the_code_has_changed_is_kept(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def asked() -> tuple[str, ReviewRecord]:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.until(submitted.run_id, _waits_for(house, 1))
        return submitted.run_id, _open(house, submitted.run_id)[0]

    run_id, review = asyncio.run(asked())
    house.app.close()
    old, house.app = house.app, house.new_app()

    @house.app.workflow(version=2, budget=BUDGET)
    async def writing_(run: Run, order: Order) -> int:
        raise AssertionError("another version")

    del writing_
    house.app.registry.workflows[("writing", 2)] = house.app.registry.workflows.pop(("writing_", 2))

    async def answered() -> RunRecord:
        await house.app.reviews.approve(review.review_id, digest=review.digest, by="ana", secret=SECRET)
        async with house.working():
            run = await house.state(run_id, "parked")
        assert run.reason == "code_changed"
        assert house.app.reviews.show(review.review_id)["state"] == "approved"
        return run

    asyncio.run(answered())
    assert list(crm.records()) == []
    house.app.close()
    house.app = old

    async def gone_on() -> None:
        async with house.working():
            await house.state(run_id, "completed")

    asyncio.run(gone_on())
    assert len(crm.records()) == 1
    house.clean()
