"""Reviews: an approval authorises one digest of one version, once; answers are stored before they are matched."""

import asyncio
from typing import Any

import pytest

from counterfoil.engine.port import Run
from counterfoil.model.errors import Refused, ReviewExpired, ReviewRejected
from counterfoil.model.proposal import Proposal
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing


def _held(crm: SandboxProcess) -> list[Any]:
    return list(crm.records())


def _reviews(house: House, run_id: str) -> list[ReviewRecord]:
    with house.app.open().read() as reader:
        return reader.find(ReviewRecord, "run_id", run_id)


async def _open(house: House, run_id: str, number: int = 1) -> ReviewRecord:
    def waiting(run: RunRecord) -> bool:
        return (
            run.state.value == "waiting"
            and sum(r.state.value == "open" for r in _reviews(house, run_id)) == 1
            and len(_reviews(house, run_id)) == number
        )

    await house.until(run_id, waiting)
    return next(review for review in _reviews(house, run_id) if review.state.value == "open")


async def _approve(house: House, review: ReviewRecord, digest: str | None = None, *, by: str = "ana") -> dict[str, Any]:
    return await house.app.reviews.approve(review.review_id, digest=digest or review.digest, by=by, secret=SECRET)


def test_approved_then_sent_once(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            review = await _open(house, submitted.run_id)
            assert _held(crm) == []
            with pytest.raises(Refused) as other:
                await _approve(house, review, "sha256:" + "0" * 64)
            assert other.value.code == "digest_mismatch"
            with pytest.raises(Refused) as wrong:
                await house.app.reviews.approve(review.review_id, digest=review.digest, by="ana", secret="no")
            assert wrong.value.code == "wrong_secret"
            assert (await _approve(house, review))["decided"] == "now"
            assert (await _approve(house, review))["decided"] == "earlier"
            await submitted.result()
        assert len(_held(crm)) == 1
        (used,) = _reviews(house, submitted.run_id)
        assert used.used_by is not None
        house.clean()

    asyncio.run(story())


def test_a_plain_rejection_parks_with_nothing_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            review = await _open(house, submitted.run_id)
            await house.app.reviews.reject(
                review.review_id, digest=review.digest, by="ana", secret=SECRET, comment="no", ask_revision=False
            )
            run = await house.state(submitted.run_id, "parked")
            (operation,) = house.operations(submitted.run_id)
            assert (run.reason, operation.status.value, operation.reason) == ("review_rejected", "failed", "rejected")
            await house.app.runs.resume(submitted.run_id, by="ana")
            again = await _open(house, submitted.run_id, 2)
            await _approve(house, again)
            await submitted.result()
        assert len(_held(crm)) == 1
        house.clean()

    asyncio.run(story())


def test_a_revision_is_a_version_with_a_review_of_its_own(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def revising(run: Run, order: Order) -> Receipt:
        proposal: Proposal[Any, Any] | None = None
        amount = order.amount
        while True:
            proposal = await run.propose(operation, Order(number=order.number, amount=amount), replaces=proposal)
            try:
                return await run.perform(operation, proposal)
            except ReviewRejected as rejected:
                if not rejected.ask_revision:
                    raise
                amount = int(rejected.comment)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(revising, Order(number="1"), request_id="r")
            first = await _open(house, submitted.run_id)
            await house.app.reviews.reject(
                first.review_id, digest=first.digest, by="ana", secret=SECRET, comment="7", ask_revision=True
            )
            second = await _open(house, submitted.run_id, 2)
            assert (second.proposal_version, second.operation_id) == (
                2,
                first.operation_id,
            ) and second.digest != first.digest
            with pytest.raises(Refused) as other:
                await _approve(house, second, first.digest, by="oscar")
            assert other.value.code == "digest_mismatch"
            with pytest.raises(Refused) as own:
                await _approve(house, second)
            assert own.value.code == "own_proposal", "ana asked for this version"
            await _approve(house, second, by="oscar")
            await submitted.result()
        (record,) = _held(crm)
        assert record["payload_digest"] == second.digest
        house.clean()

    asyncio.run(story())


def test_an_expired_review_is_told_and_a_resume_asks_again(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            review = await _open(house, submitted.run_id)
            house.clock.advance(8 * 3600)
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "review_expired"
            with pytest.raises(Refused) as late:
                await _approve(house, review)
            assert late.value.code == "review_closed"
            await house.app.runs.resume(submitted.run_id, by="ana")
            await _approve(house, await _open(house, submitted.run_id, 2))
            await submitted.result()
        assert len(_held(crm)) == 1
        house.clean()

    asyncio.run(story())


def test_the_workflow_may_answer_an_expiry(house_with_crm: House) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def answers(run: Run, order: Order) -> str:
        try:
            return (await run.perform(operation, order)).reference
        except ReviewExpired:
            return "nobody answered"

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(answers, Order(number="1"), request_id="r")
            await _open(house, submitted.run_id)
            house.clock.advance(8 * 3600)
            assert await submitted.result() == "nobody answered"
        (withdrawn,) = house.operations(submitted.run_id)
        assert (withdrawn.status.value, withdrawn.sent) == ("failed", 0)
        house.clean()

    asyncio.run(story())


def test_authority_is_checked_when_it_is_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    """Revoked between approval and send: nothing is sent, and another review is opened."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
        async with house.working():
            review = await _open(house, submitted.run_id)
        await _approve(house, review)
        await house.app.people.revoke("ana")
        async with house.working():
            second = await _open(house, submitted.run_id, 2)
            assert _held(crm) == []
            await house.app.reviews.approve(second.review_id, digest=second.digest, by="oscar", secret=SECRET)
            await submitted.result()
        assert len(_held(crm)) == 1
        house.clean()

    asyncio.run(story())


def test_a_lapsed_approval_over_a_doubt_opens_a_renewal(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await _approve(house, await _open(house, submitted.run_id))
            await house.until(submitted.run_id, lambda run: run.failed_tries == 1 and run.state.value == "waiting")
            house.clock.advance(9 * 3600)
            renewal = await _open(house, submitted.run_id, 2)
            (operation,) = house.operations(submitted.run_id)
            assert renewal.kind == "renewal" and operation.sent == 1 and renewal.digest == operation.payload_digest
            await _approve(house, renewal)
            await submitted.result()
        assert len(_held(crm)) == 1
        house.clean()

    asyncio.run(story())


def test_suspended_writes_hold_and_resume(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        await house.app.writes.suspend(receiver="crm", by="ana", reason="they are moving")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "writes_suspended" and _held(crm) == []
            await house.app.writes.resume(receiver="crm", by="ana", secret=SECRET, reason="moved")
            await submitted.result()
        assert len(_held(crm)) == 1
        house.clean()

    asyncio.run(story())
