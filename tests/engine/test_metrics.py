"""Every metric with the real engine: moved up, and the gauges back down."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from counterfoil.app.metrics import exposition
from counterfoil.engine.administration import RegisterWorker
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Run
from counterfoil.model.journal import EntryKind
from counterfoil.model.metrics import METRICS
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction
from counterfoil.testing.conformance.bench import Act
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, submit
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.test_decisions import CountingAgent
from tests.engine.writes import create_case, writing

OPERATION = {"receiver": "crm", "operation": "create_case"}


def value(house: House, name: str, **labels: str) -> Any:
    """The number of one series, or its histogram."""
    items = {item["name"]: item for item in house.app.metrics.list()["items"]}
    found = [each for each in items[f"counterfoil_{name}"]["values"] if each["labels"] == labels]
    assert len(found) == 1, items[f"counterfoil_{name}"]["values"]
    return found[0]["histogram"] or found[0]["value"]


def simple(house: House) -> Any:
    @house.app.workflow(version=1, budget=BUDGET)
    async def simple(run: Run, order: Order) -> int:
        return await run.step(doubled, order.amount)

    return simple


async def doubled(amount: int) -> int:
    return 2 * amount


@pytest.fixture
def unknown(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Any:  # type: ignore[no-untyped-def]
    """A receiver that can neither repeat nor be asked, and that loses its first reply."""
    with SandboxProcess("none") as crm:
        crm.fault("drop-reply")
        made = House(tmp_path, monkeypatch, crm.url)
        yield made
        made.app.close()


def test_unresolved_its_age_parked_and_the_intervention(unknown: House) -> None:
    house = unknown
    workflow = writing(house.app, create_case(house.app, "none"))

    async def story() -> None:
        house.found()
        assert value(house, "operations_unresolved", **OPERATION) == 0
        async with house.working():
            run_id = await submit(house, workflow, Order(number="1"), "r")
            run = await house.state(run_id, "parked", "waiting")
            (operation,) = house.operations(run_id)
            doubt_at = house.clock.now_us()
            assert operation.doubt_at == doubt_at, "since its answer was lost"
            if run.state.value == "waiting":
                house.clock.advance(2)
                await house.state(run_id, "parked")
            (operation,) = house.operations(run_id)
            assert value(house, "operations_unresolved", **OPERATION) == 1
            house.clock.advance(90)
            age = (house.clock.now_us() - doubt_at) / 1_000_000
            assert value(house, "operations_unresolved_oldest_seconds", **OPERATION) == age >= 90
            assert value(house, "runs_parked", reason="outcome_unknown") == 1
            assert value(house, "runs_parked", reason="poisoned") == 0
            await house.app.operations.resolve(
                operation.operation_id, as_="succeeded", by="ana", secret=SECRET, reason="seen", evidence=b"list",
                reference="case-1", expect_version=operation.version, new_key=False,
            )  # fmt: skip
            await house.state(run_id, "completed")
        assert value(house, "operations_unresolved", **OPERATION) == 0
        assert value(house, "operations_unresolved_oldest_seconds", **OPERATION) == 0
        assert value(house, "runs_parked", reason="outcome_unknown") == 0
        answered = value(house, "intervention_seconds", reason="outcome_unknown")
        assert (answered["count"], answered["sum"]) == (1, 90)
        assert {b["upto"]: b["count"] for b in answered["buckets"]}["60"] == 0
        assert {b["upto"]: b["count"] for b in answered["buckets"]}["300"] == 1
        house.clean()

    asyncio.run(story())


def test_an_ambiguous_answer_is_recovered_by_a_repeat(house_with_crm: House, crm: SandboxProcess) -> None:
    """In flight with its answer lost: unresolved once the deadline is over, repeated once, then closed."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        assert value(house, "attempts_repeated_total", **OPERATION) == 0
        async with house.working():
            run_id = await submit(house, workflow, Order(number="1"), "r")
            await house.state(run_id, "waiting")
            assert value(house, "operations_unresolved", **OPERATION) == 0, "its deadline is not over"
            assert value(house, "attempts_without_progress_total", **OPERATION) == 1
            assert value(house, "recovery_duration_seconds", cause="ambiguous_answer")["count"] == 0, "not over"
            house.clock.advance(2)
            await house.state(run_id, "completed")
        assert value(house, "attempts_repeated_total", **OPERATION) == 1
        assert value(house, "attempts_without_progress_total", **OPERATION) == 1, "the second one closed it"
        recovered = value(house, "recovery_duration_seconds", cause="ambiguous_answer")
        assert (recovered["count"], recovered["sum"]) == (1, 2)
        house.clean()

    asyncio.run(story())


def test_an_entry_that_ends_an_attempt_need_not_name_its_operation(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    def ends(tx: Transaction) -> None:
        (attempt,) = tx.find(AttemptRecord, "run_id", run_id[0])
        tx.put(replace(attempt, ended_at=tx.now + 1))
        tx.append(run_id[0], EntryKind.RULED, name="create_case", data={})

    run_id: list[str] = []

    async def story() -> None:
        house.found()
        async with house.working():
            run_id.append(await submit(house, workflow, Order(number="1"), "r"))
            await house.state(run_id[0], "completed")
        assert value(house, "attempts_without_progress_total", **OPERATION) == 0
        reads = (Read.key(RunRecord, run_id[0]), Read.by(AttemptRecord, "run_id", run_id[0]))
        house.app.open().database.apply([Act(reads, ends, "operation.advanced")])
        assert value(house, "attempts_without_progress_total", **OPERATION) == 1

    asyncio.run(story())


def test_a_refusal_is_progress_and_a_refused_connection_is_none(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("refuse")
        async with house.working():
            run_id = await submit(house, workflow, Order(number="1"), "r")
            await house.state(run_id, "parked")
            assert value(house, "attempts_without_progress_total", **OPERATION) == 0, "it closed the operation"
            crm.close()
            run_id = await submit(house, workflow, Order(number="2"), "r2")
            await house.until(run_id, lambda _: [o.attempts for o in house.operations(run_id)] == [1])
            await house.state(run_id, "waiting")
        (operation,) = house.operations(run_id)
        assert (operation.status.value, operation.doubt_at) == ("prepared", None), "proven that it never left"
        assert value(house, "attempts_without_progress_total", **OPERATION) == 1
        assert value(house, "recovery_duration_seconds", cause="ambiguous_answer")["count"] == 0

    asyncio.run(story())


def test_an_attempt_that_hangs_is_unresolved_after_its_deadline(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("hang")
        worker = house.app.new_worker()
        part = asyncio.create_task(worker.run())
        run_id = await submit(house, workflow, Order(number="1"), "r")
        await house.until(run_id, lambda _: [o.status.value for o in house.operations(run_id)] == ["in_flight"])
        assert value(house, "operations_unresolved", **OPERATION) == 0
        lease = house.run(run_id).lease_until or 0
        house.clock.advance((lease - house.clock.now_us()) / 1_000_000 + 3600)
        assert value(house, "operations_unresolved", **OPERATION) == 1
        assert value(house, "operations_unresolved_oldest_seconds", **OPERATION) == 3600, "since the lease was lost"
        crm.release()
        worker.stop()
        await part

    asyncio.run(story())


def test_reviews_open_and_their_age(house_with_crm: House) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        assert value(house, "reviews_open", role="manager") == 0
        async with house.working():
            first = await submit(house, workflow, Order(number="1"), "r1")
            review = await asked(house, first)
            house.clock.advance(60)
            second = await submit(house, workflow, Order(number="2"), "r2")
            await asked(house, second)
            house.clock.advance(30)
            assert value(house, "reviews_open", role="manager") == 2
            assert value(house, "review_age_seconds", role="manager", which="oldest") == 90
            assert value(house, "review_age_seconds", role="manager", which="median") == 30
            await approve(house, review)
            await house.state(first, "completed")
            assert value(house, "reviews_open", role="manager") == 1
            assert value(house, "review_age_seconds", role="manager", which="oldest") == 30

    asyncio.run(story())


def test_a_lost_lease_is_counted_and_its_recovery_measured_to_the_next_step(house: House) -> None:
    workflow = simple(house)

    async def story() -> None:
        house.found()
        run_id = await submit(house, workflow, Order(number="1"), "r")
        opened = house.app.open()
        await opened.write(RegisterWorker("wrk_dead", "elsewhere", "boot", 1, {}))
        claimed = await opened.write(Claim(run_id, "wrk_dead", opened.deadlines))
        house.clock.advance(20)
        await opened.write(HolderGone(run_id, "wrk_dead", claimed.fence))
        assert value(house, "lease_losses_total") == 0, "nobody has claimed it since"
        async with house.working():
            await house.state(run_id, "completed")
        assert value(house, "lease_losses_total") == 1
        recovered = value(house, "recovery_duration_seconds", cause="crash")
        assert (recovered["count"], recovered["sum"]) == (1, 15), "its heartbeat was due 5 seconds after the last"

    asyncio.run(story())


def test_steps_commits_and_their_duration(house: House) -> None:
    workflow = simple(house)

    async def story() -> None:
        house.found()
        commits = value(house, "commits_total")
        lasted = value(house, "commit_duration_seconds")
        assert value(house, "steps_total") == 0
        async with house.working():
            await house.state(await submit(house, workflow, Order(number="1"), "r"), "completed")
        assert value(house, "steps_total") == 1
        more = value(house, "commits_total") - commits
        assert more > 3
        after = value(house, "commit_duration_seconds")
        assert after["count"] - lasted["count"] == more and after["sum"] >= 0

    asyncio.run(story())


def test_money_spent_is_counted_by_decision(house: House) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def deciding(run: Run, order: Order) -> int:
        return (await run.decide(CountingAgent(), order, prompt_version="1")).amount

    async def story() -> None:
        house.found()
        house.app.open().usage_of = lambda _: ({"input_tokens": 3}, 2_500)
        async with house.working():
            await house.state(await submit(house, deciding, Order(number="1"), "r"), "completed")
        assert value(house, "budget_spent_usd_total", decision="chooser") == pytest.approx(0.0025)

    asyncio.run(story())


def test_what_is_stored_and_what_is_counted_here_are_one(house_with_crm: House, crm: SandboxProcess) -> None:
    """However often, and by whichever process, the journal is counted: each entry counts once."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))
    other = house.new_app()

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            for n in range(3):
                run_id = await submit(house, workflow, Order(number=str(n)), f"r{n}")
                await house.until(run_id, lambda run: run.state.value in ("waiting", "completed"))
                value(house, "attempts_repeated_total", **OPERATION)
                house.clock.advance(2)
                await house.state(run_id, "completed")
                await asyncio.gather(house.app.metrics.store_counted(), other.metrics.store_counted())
        fresh = house.new_app()
        for app in (house.app, other, fresh):
            items = {item["name"]: item for item in app.metrics.list()["items"]}
            repeated = [v["value"] for v in items["counterfoil_attempts_repeated_total"]["values"] if v["value"]]
            assert repeated == [1]
        other.close()
        fresh.close()

    asyncio.run(story())


def test_samples_are_kept_for_a_day_and_quarter_hours_for_a_week(house: House) -> None:
    workflow = simple(house)

    async def story() -> None:
        house.found()
        begun = house.clock.now_us()
        async with house.working():
            await house.state(await submit(house, workflow, Order(number="1"), "r"), "completed")
        for minute in range(31):
            assert await house.app.metrics.sample() > 0
            assert await house.app.metrics.sample() == 0, "once a minute"
            house.clock.advance(60)
            del minute
        drawn = house.app.metrics.history("steps_total", begun)
        assert (drawn["kind"], len(drawn["series"])) == ("counter", 1)
        points = drawn["series"][0]["points"]
        assert len(points) == 31 and points[0]["per_second"] is None and points[1]["per_second"] == 0
        assert house.app.metrics.history("counterfoil_reviews_open", begun)["series"] == []
        house.clock.advance(86_400)
        await house.app.metrics.sample()
        assert 2 <= len(house.app.metrics.history("steps_total", begun)["series"][0]["points"]) <= 4
        house.clock.advance(7 * 86_400)
        await house.app.metrics.sample()
        assert len(house.app.metrics.history("steps_total", begun)["series"][0]["points"]) == 1

    asyncio.run(story())


def test_the_exposition_and_the_list_say_the_same(house_with_crm: House) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    house = house_with_crm
    create_case(house.app, review=True)
    house.found()
    body, kind = exposition(house.app)
    assert kind.startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    for metric in METRICS:
        family = families[metric.full_name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.kind.value, metric.help)
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        assert labels <= set(metric.labels)
    assert len(families) == len(METRICS)


def test_duplicates_are_open_until_a_person_closes_the_incident(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with SandboxProcess("lookup") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        workflow = writing(house.app, create_case(house.app, "lookup"))

        async def story() -> None:
            house.found()
            async with house.working():
                run_id = await submit(house, workflow, Order(number="1"), "r")
                await house.state(run_id, "completed")
                (operation,) = house.operations(run_id)
                assert (value(house, "duplicates_open"), value(house, "duplicates_found_total")) == (0, 0)
                house.clock.advance(60)
                second = {"number": "1", "amount": 1}  # somebody else writes the same, under our reference
                headers = {"Counterfoil-Operation": operation.operation_id}
                httpx2.post(f"{crm.url}/cases", json=second, headers=headers).raise_for_status()
                await house.app.operations.lookup(operation.operation_id)
                assert (value(house, "duplicates_open"), value(house, "duplicates_found_total")) == (1, 1)
                (incident,) = house.app.incidents.list()["items"]
                await house.app.incidents.close(incident["incident_id"], by="oscar", secret=SECRET, reason="cancelled")
            assert (value(house, "duplicates_open"), value(house, "duplicates_found_total")) == (0, 1)

        asyncio.run(story())
        house.app.close()
