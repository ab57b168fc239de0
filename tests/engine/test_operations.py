"""Operations against the sandbox: what the receiver holds and what the journal says decide."""

import asyncio
from datetime import timedelta

import pytest

from counterfoil.engine.port import Run
from counterfoil.model.errors import OperationFailed, Refused, Unresolved
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing


def _records(crm: SandboxProcess) -> int:
    return len(crm.records())


def test_a_write_leaves_one_record_and_a_receipt_in_three_commits(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            receipt = await submitted.result()
        assert receipt.reference.startswith("case-") and _records(crm) == 1
        passed = house.app.boundaries.passed
        names = (
            "operation.prepared",
            "operation.in_flight",
            "operation.classified",
            "operation.advanced",
            "marker.flushed",
        )
        assert [passed[name] for name in names] == [1, 1, 1, 0, 2]  # one flush at start, and one for the attempt
        house.clean()

    asyncio.run(story())


def test_a_dropped_reply_is_repeated_under_the_key(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            (operation,) = house.operations(submitted.run_id)
            assert (operation.status.value, operation.sent) == ("in_flight", 1)
            house.clock.advance(2)
            await submitted.result()
        (operation,) = house.operations(submitted.run_id)
        assert (operation.status.value, operation.attempts, _records(crm)) == ("succeeded", 2, 1)
        house.clean()

    asyncio.run(story())


def test_a_dropped_reply_is_looked_up_where_there_is_no_key(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    with SandboxProcess("lookup") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        workflow = writing(house.app, create_case(house.app, "lookup"))

        async def story() -> None:
            house.found()
            crm.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
                receipt = await submitted.result()
            (operation,) = house.operations(submitted.run_id)
            assert receipt.reference.startswith("case-")
            assert (operation.status.value, operation.attempts, _records(crm)) == ("succeeded", 1, 1)
            house.clean()

        asyncio.run(story())
        house.app.close()


def test_without_key_or_lookup_a_person_resolves(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    with SandboxProcess("none") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        workflow = writing(house.app, create_case(house.app, "none"))

        async def story() -> None:
            house.found()
            crm.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
                run = await house.state(submitted.run_id, "parked", "waiting")
                if run.state.value == "waiting":
                    house.clock.advance(2)
                    run = await house.state(submitted.run_id, "parked")
                assert (run.reason, run.owner) == ("outcome_unknown", "lead")
                with pytest.raises(Unresolved):
                    await submitted.result()
                (operation,) = house.operations(submitted.run_id)
                assert operation.status.value == "unknown" and _records(crm) == 1
                with pytest.raises(Refused) as stale:
                    await _resolve(house, operation.operation_id, operation.version - 1)
                assert stale.value.code == "stale_version"
                await _resolve(house, operation.operation_id, operation.version)
                assert (await submitted.result()).reference == "case-1"
            assert _records(crm) == 1
            house.clean()

        asyncio.run(story())
        house.app.close()


async def _resolve(house: House, operation_id: str, version: int, as_: str = "succeeded") -> None:
    await house.app.operations.resolve(
        operation_id, as_=as_, by="ana", secret=SECRET, reason="seen in the list", evidence=b"a screenshot",
        reference="case-1" if as_ == "succeeded" else None, expect_version=version, new_key=False,
    )  # fmt: skip


def test_a_refusal_fails_and_a_retry_is_the_next_occurrence(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("refuse")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "step_failed" and _records(crm) == 0
            await house.app.runs.retry(submitted.run_id, by="ana")
            await submitted.result()
        first, second = house.operations(submitted.run_id)
        assert (first.status.value, second.status.value, second.occurrence) == ("failed", "succeeded", 1)
        assert _records(crm) == 1
        house.clean()

    asyncio.run(story())


def test_a_refused_connection_is_proven_never_sent(house: House) -> None:
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            (operation,) = house.operations(submitted.run_id)
            assert (operation.status.value, operation.sent, operation.attempts) == ("prepared", 0, 1)
            for n in range(2, 6):
                house.clock.advance(400)
                await house.until(submitted.run_id, lambda run, n=n: run.failed_tries == n)
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "budget_attempts"
            await house.app.runs.cancel(submitted.run_id, by="ana", reason="enough")
            await house.state(submitted.run_id, "cancelled")
        (operation,) = house.operations(submitted.run_id)
        assert (operation.status.value, operation.sent) == ("failed", 0)
        house.clean()

    asyncio.run(story())


def test_the_second_run_of_one_intention_takes_the_first_receipt(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        async with house.working():
            first = await house.app.submit(workflow, Order(number="1"), request_id="a")
            second = await house.app.submit(workflow, Order(number="1"), request_id="b")
            house_answers = [await first.result(), None]
            run = await house.state(second.run_id, "waiting", "completed")
            if run.state.value == "waiting":
                house.clock.advance(11)
            house_answers[1] = await second.result()
            assert house_answers[0] == house_answers[1] and _records(crm) == 1
            (reused,) = house.operations(second.run_id)
            assert reused.reused_from is not None or house.operations(first.run_id)[0].reused_from is not None
            other = await house.app.submit(workflow, Order(number="1", amount=2), request_id="c")
            run = await house.state(other.run_id, "parked")
            assert run.reason == "business_key_conflict" and _records(crm) == 1
            (held,) = house.operations(other.run_id)
            await house.app.operations.resolve(
                held.operation_id, as_="send-again", by="ana", secret=SECRET, reason="both are meant", evidence=b"mail",
                reference=None, expect_version=held.version, new_key=False,
            )  # fmt: skip
            await other.result()
            assert _records(crm) == 2
        house.clean()

    asyncio.run(story())


def test_an_equal_operation_without_business_key_is_held(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, business_key="number")
    object.__setattr__(operation, "business_key", None)  # neither key nor repeatable: refused at registration otherwise

    @house.app.workflow(version=1, budget=BUDGET)
    async def twice(run: Run, order: Order) -> Receipt:
        await run.perform(operation, order)
        return await run.perform(operation, order)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(twice, Order(number="1"), request_id="r")
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "possible_repeat" and _records(crm) == 1
            held = house.operations(submitted.run_id)[1]
            await _resolve(house, held.operation_id, held.version, "failed")
            run = await house.until(submitted.run_id, lambda run: run.reason == "step_failed")
            assert _records(crm) == 1
        house.clean()

    asyncio.run(story())


def test_a_doubt_stops_the_other_branch_too(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    with SandboxProcess("none") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        operation = create_case(house.app, "none")
        signals = asyncio.Event()

        async def ready() -> int:
            signals.set()
            return 1

        @house.app.workflow(version=1, budget=BUDGET)
        async def both(run: Run, order: Order) -> int:
            async def one() -> Receipt:
                return await run.perform(operation, order)

            async def two() -> Receipt:
                await run.sleep(timedelta(minutes=1))
                await run.step(ready)
                return await run.perform(operation, Order(number="other"))

            await run.gather(one(), two())
            return 1

        async def story() -> None:
            house.found()
            crm.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(both, Order(number="1"), request_id="r")
                await house.until(
                    submitted.run_id, lambda run: run.reason == "outcome_unknown" or run.state.value == "waiting"
                )
                house.clock.advance(61)
                run = await house.state(submitted.run_id, "parked")
                assert run.reason == "outcome_unknown" and _records(crm) == 1
                doubt = next(o for o in house.operations(submitted.run_id) if o.status.value == "unknown")
                await _resolve(house, doubt.operation_id, doubt.version)
                house.clock.advance(61)
                await submitted.result()
            assert _records(crm) == 2
            house.clean()

        asyncio.run(story())
        house.app.close()


def test_the_ledger_alone(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app)

    async def story() -> None:
        house.found()
        receipt = await house.app.ledger.perform(operation, Order(number="1"), identity="one")
        again = await house.app.ledger.perform(operation, Order(number="1"), identity="one")
        assert receipt == again and _records(crm) == 1
        with pytest.raises(Refused) as other:
            await house.app.ledger.perform(operation, Order(number="2"), identity="one")
        assert other.value.code == "identity_conflict"
        crm.fault("refuse")
        with pytest.raises(OperationFailed):
            await house.app.ledger.perform(operation, Order(number="3"), identity="three")
        house.clean()

    asyncio.run(story())
