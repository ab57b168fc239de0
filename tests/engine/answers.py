"""Who answers reviews in the tests, and what a run that was asked about looks like."""

from typing import Any

from counterfoil.engine.port import Run
from counterfoil.model.errors import ReviewRejected
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from tests.engine.house import BUDGET, SECRET, House, Order


def reviews_of(house: House, run_id: str) -> list[ReviewRecord]:
    with house.app.open().read() as reader:
        return reader.find(ReviewRecord, "run_id", run_id)


async def asked(house: House, run_id: str, number: int = 1) -> ReviewRecord:
    """The run waits for the `number`-th review of it, which is open."""

    def waits(run: RunRecord) -> bool:
        reviews = reviews_of(house, run_id)
        return run.state.value == "waiting" and len(reviews) == number and reviews[-1].state.value == "open"

    await house.until(run_id, waits)
    return reviews_of(house, run_id)[-1]


async def approve(house: House, review: ReviewRecord, *, by: str = "ana") -> None:
    await house.app.reviews.approve(review.review_id, digest=review.digest, by=by, secret=SECRET)


async def reject(house: House, review: ReviewRecord, *, ask_revision: bool = False) -> None:
    await house.app.reviews.reject(
        review.review_id, digest=review.digest, by="ana", secret=SECRET, comment="no", ask_revision=ask_revision
    )


async def submit(house: House, workflow: Any, order: Order, request_id: str) -> str:
    return (await house.app.submit(workflow, order, request_id=request_id)).run_id


def revising(house: House, operation: Any, *, number: str = "") -> Any:
    """A version 1; when its reviewer asks for it a version 2 with one more, and `number` behind its business key."""

    @house.app.workflow(version=1, budget=BUDGET)
    async def revising(run: Run, order: Order) -> Receipt:
        first = await run.propose(operation, order)
        try:
            return await run.perform(operation, first)
        except ReviewRejected:
            again = Order(number=order.number + number, amount=order.amount + 1)
            return await run.perform(operation, await run.propose(operation, again, replaces=first))

    return revising
