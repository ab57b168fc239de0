"""Traces and metrics at a real collector: one span for each step, decision, operation and attempt, once."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.app.tracing import Exporting
from counterfoil.app.tracing.span import span_id, trace_id
from counterfoil.engine.administration import RegisterWorker
from counterfoil.engine.asked import input_digest
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Run
from counterfoil.engine.steps import EndStep
from counterfoil.model import metrics
from counterfoil.model.metrics import METRICS
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import submit
from tests.engine.collector import Collector, collecting, facts_of
from tests.engine.house import BUDGET, House, Order
from tests.engine.test_decisions import CountingAgent
from tests.engine.writes import create_case

SERIESLESS = (
    metrics.REVIEWS_OPEN,
    metrics.REVIEW_AGE,
    metrics.BUDGET_SPENT,
    metrics.INTERVENTION,
    metrics.RECEIPTS_ORPHANED,
)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


async def read(number: str) -> str:
    return f"order {number}"


def whole(house: House) -> Any:
    operation = create_case(house.app)

    @house.app.workflow(version=1, budget=BUDGET)
    async def whole(run: Run, order: Order) -> str:
        await run.step(read, order.number)
        await run.decide(CountingAgent(), order, prompt_version="7")
        await run.sleep(timedelta(hours=1))
        receipt: Receipt = await run.perform(operation, order)
        return receipt.reference

    return whole


def test_a_run_is_one_trace_and_a_replay_tells_nothing_again(
    house_with_crm: House, crm: SandboxProcess, collector: Collector
) -> None:
    house = house_with_crm
    workflow = whole(house)

    async def story() -> str:
        house.found()
        house.app.open().usage_of = lambda _: ({"input_tokens": 11, "output_tokens": 3}, 1_500)
        exporting = Exporting(house.app, collector.url)
        await exporting.begin()
        crm.fault("drop-reply")
        async with house.working():
            run_id = await submit(house, workflow, Order(number="secret-7"), "r")
            await house.state(run_id, "waiting")
            await exporting.tell_traces()
            early = collector.ids()
            assert len(early) == 3, "a step, a decision, and the life of the worker that left it waiting"
            house.clock.advance(3601)
            await house.until(run_id, lambda _: [o.attempts for o in house.operations(run_id)] == [1])
            await house.state(run_id, "waiting")
            house.clock.advance(2)
            await house.state(run_id, "completed")
        await exporting.tell_traces()
        assert await exporting.tell_traces() == 0
        assert collector.ids()[:3] == early
        return run_id

    run_id = asyncio.run(story())
    assert len(set(collector.ids())) == len(collector.spans)
    assert {span.trace_id.hex() for span in collector.spans} == {f"{trace_id(run_id):032x}"}
    names = sorted(span.name for span in collector.spans)
    assert names == sorted(
        ["step read", "invoke_agent chooser", "operation create_case", "attempt 1", "attempt 2", "run whole"]
        + ["worker"] * names.count("worker")
    )
    (root,), (step,), (decision,) = (collector.named(n) for n in ("run whole", "step read", "invoke_agent chooser"))
    assert root.span_id.hex() == f"{span_id(run_id, 'run', 0):016x}" and not root.parent_span_id
    lives = {life.span_id for life in collector.named("worker")}
    assert {step.parent_span_id, decision.parent_span_id} <= lives
    assert all(life.parent_span_id == root.span_id for life in collector.named("worker"))
    told = facts_of(decision)
    assert (told["gen_ai.operation.name"], told["gen_ai.agent.name"]) == ("invoke_agent", "chooser")
    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == ("test", "counting")
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (11, 3)
    assert told["counterfoil.cost_usd"] == pytest.approx(0.0015)
    (operation,) = collector.named("operation create_case")
    attempts = [collector.named(f"attempt {n}")[0] for n in (1, 2)]
    assert operation.parent_span_id == root.span_id
    assert {attempt.parent_span_id for attempt in attempts} == {operation.span_id}
    assert [facts_of(a).get("error.type") for a in attempts] == ["ambiguous", None]
    assert operation.end_time_unix_nano - operation.start_time_unix_nano == 2_000_000_000
    assert facts_of(operation)["counterfoil.status"] == "succeeded"
    assert not any(b"secret-7" in body for body in collector.bodies), "nothing of a payload leaves"


def test_a_lost_worker_is_a_span_and_the_next_life_links_to_it(house: House, collector: Collector) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def two(run: Run, order: Order) -> str:
        await run.step(read, order.number)
        return await run.step(read, "b")

    async def story() -> str:
        house.found()
        opened = house.app.open()
        exporting = Exporting(house.app, collector.url)
        await exporting.begin()
        run_id = await submit(house, two, Order(number="1"), "r")
        await opened.write(RegisterWorker("wrk_dead", "elsewhere", "boot", 1, {}))
        claimed = await opened.write(Claim(run_id, "wrk_dead", opened.deadlines))
        house.clock.advance(1)
        digest = {"in": input_digest(["1"]), "out": "order 1"}
        await opened.write(EndStep(run_id, claimed.fence, "1", "read", digest, opened.deadlines))
        await exporting.tell_traces()
        assert [span.name for span in collector.spans] == ["step read"]
        await opened.write(HolderGone(run_id, "wrk_dead", claimed.fence))
        house.clock.advance(9)
        # Another process tells on: what it must know of the run it reads from the journal.
        other = Exporting(house.app, collector.url)
        async with house.working():
            await house.state(run_id, "completed", "parked")
        await other.tell_traces()
        return run_id

    run_id = asyncio.run(story())
    assert len(set(collector.ids())) == len(collector.spans)
    assert [span.name for span in collector.spans] == ["step read", "worker", "step read", "worker", "run two"]
    lost, taken = collector.named("worker")
    assert facts_of(lost)["counterfoil.left"] == "lost" and facts_of(lost)["error.type"] == "WorkerLost"
    assert lost.end_time_unix_nano - lost.start_time_unix_nano == 1_000_000_000, "until its last sign of life"
    assert [link.span_id for link in taken.links] == [lost.span_id]
    first, second = collector.named("step read")
    assert first.parent_span_id == lost.span_id and second.parent_span_id == taken.span_id
    assert first.end_time_unix_nano - first.start_time_unix_nano == 1_000_000_000
    assert run_id


def test_a_collector_that_refuses_hears_it_later(house: House, collector: Collector) -> None:
    @house.app.workflow(version=1, budget=BUDGET)
    async def one(run: Run, order: Order) -> str:
        return await run.step(read, order.number)

    async def story() -> None:
        house.found()
        exporting = Exporting(house.app, collector.url)
        await exporting.begin()
        collector.refusing = True
        async with house.working():
            run_id = await submit(house, one, Order(number="1"), "r")
            await house.state(run_id, "completed")
        assert await exporting.tell_traces() == 0 and collector.spans == []
        collector.refusing = False
        assert await exporting.tell_traces() == 0, "not at once"
        house.clock.advance(6)
        assert await exporting.tell_traces() == 3

    asyncio.run(story())


def test_every_metric_reaches_the_collector(house_with_crm: House, collector: Collector) -> None:
    house = house_with_crm
    workflow = whole(house)

    async def story() -> None:
        house.found()
        async with house.working():
            await house.state(await submit(house, workflow, Order(number="1"), "r"), "waiting")
        exporting = Exporting(house.app, collector.url)
        assert await exporting.tell_metrics()

    asyncio.run(story())
    (told,) = collector.metrics
    assert list(told) == [metric.full_name for metric in METRICS]
    kinds = {"gauge": "gauge", "counter": "sum", "histogram": "histogram"}
    for metric in METRICS:
        found = told[metric.full_name]
        assert (found.name, found.description) == (metric.full_name, metric.help)
        # One that has no series yet, since no role is asked and no price is known, has no data.
        assert found.WhichOneof("data") in (kinds[metric.kind.value], None if metric in SERIESLESS else "")
    assert [point.as_double or point.as_int for point in told["counterfoil_steps_total"].sum.data_points] == [1]
    assert told["counterfoil_steps_total"].sum.is_monotonic
    (lasted,) = told["counterfoil_commit_duration_seconds"].histogram.data_points
    assert lasted.count == sum(lasted.bucket_counts) > 5
