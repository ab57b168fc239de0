"""`app.ledger.perform`: what a caller hears, and that it never waits for what only a person can move."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from counterfoil.app import driven as driving
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Call
from counterfoil.integrations.outcome import outcome_of
from counterfoil.model.errors import Refused, ReviewRejected, Unresolved
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import contract, create_case, writing


@pytest.fixture(autouse=True)
def real_time(request: pytest.FixtureRequest) -> None:
    """A caller waits by itself: nobody is there to move a clock."""
    found = {"blind_house", "house_with_crm"} & set(request.fixturenames)
    request.getfixturevalue(found.pop()).app.clock = SystemClock()


ONE, OTHER = Order(number="1"), Order(number="1", amount=2)


async def _unresolved(house: House, operation: Any, order: Order, identity: str) -> Unresolved:
    with pytest.raises(Unresolved) as raised:
        async with asyncio.timeout(9):
            await house.app.ledger.perform(operation, order, identity=identity)
    return raised.value


async def _resolve(house: House, operation_id: str) -> None:
    (record,) = [o for run in _runs(house) for o in house.operations(run.run_id) if o.operation_id == operation_id]
    await house.app.operations.resolve(
        operation_id, as_="succeeded", by="ana", secret=SECRET, reason="seen in the list", evidence=b"a screenshot",
        reference="case-1", expect_version=record.version, new_key=False,
    )  # fmt: skip


async def _answer(house: House, doubt: Unresolved, *, approve: bool, **said: Any) -> None:
    (review,) = [r for r in house.app.reviews.list(state="open")["items"] if r["operation_id"] == doubt.operation_id]
    decide = house.app.reviews.approve if approve else house.app.reviews.reject
    await decide(review["review_id"], digest=review["digest"], by="ana", secret=SECRET, **said)


def _runs(house: House) -> list[RunRecord]:
    with house.app.open().read() as reader:
        return list(reader.rows(RunRecord))


def test_a_doubt_says_what_is_uncertain_who_resolves_it_and_how(blind_house: House, blind_crm: SandboxProcess) -> None:
    house = blind_house
    operation = create_case(house.app, "none")

    async def story() -> None:
        house.found()
        blind_crm.fault("drop-reply")
        doubt = await _unresolved(house, operation, ONE, "one")
        assert doubt.uncertain == (doubt.operation_id,) and doubt.who == {"kind": "operator", "name": "lead"}
        assert doubt.next_action["code"] == "resolve" and doubt.command == doubt.next_action["command"]
        assert doubt.sentence and doubt.next_action["deadline_at"]
        again = await _unresolved(house, operation, ONE, "one")
        assert (again.run_id, again.command, len(blind_crm.records())) == (doubt.run_id, doubt.command, 1)
        await _resolve(house, doubt.operation_id or "")
        receipt = await house.app.ledger.perform(operation, ONE, identity="one")
        assert receipt.reference == "case-1" and len(blind_crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_the_same_intention_under_another_identity_hears_of_the_first(
    blind_house: House, blind_crm: SandboxProcess
) -> None:
    house = blind_house
    operation = create_case(house.app, "none")

    async def story() -> None:
        house.found()
        blind_crm.fault("drop-reply")
        first = await _unresolved(house, operation, ONE, "one")
        second = await _unresolved(house, operation, ONE, "two")
        assert (second.operation_id, second.command) == (first.operation_id, first.command)
        await _resolve(house, first.operation_id or "")
        for identity in ("two", "one"):
            async with asyncio.timeout(9):
                receipt = await house.app.ledger.perform(operation, ONE, identity=identity)
            assert receipt.reference == "case-1"
        assert len(blind_crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_first_that_nobody_drives_is_driven_by_the_second(house_with_crm: House, crm: SandboxProcess) -> None:
    """Its process died before it sent, or after: whoever asks for the same intention moves it, and nobody waits."""
    house = house_with_crm
    operation = create_case(house.app)

    async def story() -> None:
        house.found()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.gather(_cancelled_at_once(house, operation), return_exceptions=False)
        (left,) = _runs(house)
        assert not left.state.ended and not crm.records()
        async with asyncio.timeout(9):
            receipt = await house.app.ledger.perform(operation, ONE, identity="two")
            assert await house.app.ledger.perform(operation, ONE, identity="one") == receipt
        assert len(crm.records()) == 1
        house.clean()

    asyncio.run(story())


def test_a_first_that_nobody_drives_and_is_no_call_of_the_ledger_is_what_the_caller_hears_of(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PATIENCE_US", 100_000)
    house = house_with_crm
    operation = create_case(house.app)
    workflow = writing(house.app, operation)

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(workflow, ONE, request_id="r")
        loop = asyncio.get_running_loop()
        async with house.working() as worker:

            def prepared(when: str, names: Sequence[str], stop: Callable[[], None] = worker.stop) -> None:
                if "operation.prepared" in names:
                    loop.call_soon_threadsafe(stop)

            house.app.boundaries.observers.append(prepared)
            await house.until(submitted.run_id, lambda run: house.count(run.run_id, "prepared") == 1)
        house.app.boundaries.observers.clear()
        assert not house.run(submitted.run_id).state.ended and crm.records() == []
        doubt = await _unresolved(house, operation, ONE, "one")
        assert doubt.run_id == submitted.run_id and doubt.who["kind"] == "scheduler"
        async with house.working():
            await submitted.result()
        await house.app.ledger.perform(operation, ONE, identity="one")
        assert len(crm.records()) == 1

    asyncio.run(story())


async def _cancelled_at_once(house: House, operation: Any) -> None:
    """The caller goes away when its operation is prepared."""
    part = asyncio.ensure_future(house.app.ledger.perform(operation, ONE, identity="one"))
    house.app.boundaries.observers.append(
        lambda when, names: _cancel(part) if when == "after" and "operation.prepared" in names else None
    )
    await part


def _cancel(part: "asyncio.Future[Any]") -> None:
    part.get_loop().call_soon_threadsafe(part.cancel)


@pytest.mark.parametrize("ask_revision", [False, True])
def test_a_rejection_is_heard_and_frees_the_business_key(
    house_with_crm: House, crm: SandboxProcess, ask_revision: bool
) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)

    async def story() -> None:
        house.found()
        asked = await _unresolved(house, operation, ONE, "one")
        assert asked.uncertain == () and asked.who == {"kind": "reviewer", "name": "manager"}
        await _answer(house, asked, approve=False, comment="too much", ask_revision=ask_revision)
        for _ in range(2):
            with pytest.raises(ReviewRejected) as said:
                await house.app.ledger.perform(operation, ONE, identity="one")
            assert (said.value.reviewer, said.value.comment) == ("ana", "too much")
            assert said.value.ask_revision is ask_revision
        other = await _unresolved(house, operation, OTHER, "two")
        await _answer(house, other, approve=True)
        receipt = await house.app.ledger.perform(operation, OTHER, identity="two")
        assert [receipt.reference] == [record["id"] for record in crm.records()]
        house.clean()

    asyncio.run(story())


def test_a_name_is_held_by_one_at_a_time_and_leaves_nothing(
    house_with_crm: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file goes with its holder. Who had opened it before that holds a file that is no longer there, and no name."""
    house = house_with_crm
    house.found()
    first, opened = ExitStack(), os.open
    first.enter_context(house.app.ledger.holding("name"))

    def opened_late(*given: Any, **named: Any) -> int:
        file = opened(*given, **named)
        first.close()
        return file

    monkeypatch.setattr(os, "open", opened_late)
    with house.app.ledger.holding("name"):
        with pytest.raises(Refused) as refused, house.app.ledger.holding("name"):
            pass
        assert refused.value.code == "held_elsewhere"
    assert list((house.app.open().locks / "held").iterdir()) == []


class Wide(Receipt):
    text: str = ""


class Strict(Receipt):
    text: int = 0


def answering(house: House, text: str) -> Operation[Any, Any]:
    async def create_wide(call: Call, order: Order) -> Wide:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Wide(reference=reply.json()["id"], text=text)

    return house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")(
        create_wide
    )


def test_a_receipt_longer_than_a_runs_result_is_given_whole(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = answering(house, "x" * 70_000)

    async def story() -> None:
        house.found()
        for _ in range(2):
            receipt = await house.app.ledger.perform(operation, ONE, identity="one")
            assert (len(receipt.text), len(crm.records())) == (70_000, 1)
        outcome = await outcome_of(house.app, operation, ONE.model_dump(), "one")
        assert outcome.receipt == receipt.model_dump()
        (run,) = _runs(house)
        assert (run.state.value, run.result) == ("completed", f'{{"reference":"{receipt.reference}"}}')
        house.clean()

    asyncio.run(story())


def test_what_has_happened_is_never_told_as_a_call_that_did_not(house_with_crm: House, crm: SandboxProcess) -> None:
    """Code of later cannot read the receipt. A model that heard of a failure would plan the write again."""
    house = house_with_crm
    operation = answering(house, "no number")

    async def create_wide(call: Call, order: Order) -> Strict:
        raise AssertionError("it has happened")

    async def story() -> None:
        house.found()
        await house.app.ledger.perform(operation, ONE, identity="one")
        with pytest.raises(Refused) as refused:
            await outcome_of(house.app, replace(operation, function=create_wide), ONE.model_dump(), "one")
        assert (refused.value.code, len(crm.records())) == ("invalid_payload", 1)
        house.clean()

    asyncio.run(story())
