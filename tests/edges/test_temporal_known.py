"""What Temporal forgets, loses or hands over is known to the ledger: requests, children, signals, ends. On a real server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RawValue, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker, WorkerDeploymentConfig

from counterfoil.engine.clock import SystemClock
from counterfoil.engine.waits import StoreSignal
from counterfoil.integrations.temporal import CounterfoilPlugin, Patience, activities
from tests.edges import temporal_app
from tests.edges.temporal_app import app, changed
from tests.edges.temporal_bench import QUICK, Bench, benched
from tests.servers.temporal import TemporalServer


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


def ended(run: dict[str, Any]) -> bool:
    return run["state"] in ("completed", "failed", "cancelled")


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    """The address of a server that has forgotten everything: it never knew it."""
    server = TemporalServer()
    try:
        server.start()
        yield server.address
    finally:
        server.close()


@asynccontextmanager
async def forgetful(bench: Bench, address: str) -> AsyncIterator[Client]:
    """A worker in a namespace of the same name, in which nothing is left of what was."""
    client = bench.client = await Client.connect(address, plugins=[CounterfoilPlugin(app, patience=QUICK)])
    async with Worker(client, task_queue=bench.name):
        yield client


async def exists(client: Client, workflow_id: str) -> bool:
    try:
        await client.get_workflow_handle(workflow_id).describe()
    except RPCError:
        return False
    return True


def test_a_request_that_temporal_has_forgotten(bench: Bench, empty: str) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.half)
            await bench.result(started)
        async with forgetful(bench, empty) as client:
            again = await bench.submit(temporal_app.half)
            assert (again.run_id, again.admitted) == (started.run_id, "existing")
            assert not await exists(client, started.workflow_id), "there is nothing to execute"

    asyncio.run(story())
    assert (bench.records, len(app.runs.list()["items"])) == (1, 1)


def test_whoever_was_interrupted_asks_again(bench: Bench) -> None:
    """Stored, and never started; later terminated in the middle: the same request goes on from the record."""

    async def story() -> None:
        client = await bench.connect()
        started = await bench.submit(temporal_app.twice)
        await client.get_workflow_handle(started.workflow_id).terminate()
        async with bench.worker() as client:
            again = await bench.submit(temporal_app.twice)
            await bench.until(started, lambda run: run["reason"] == "signal")
            await client.get_workflow_handle(started.workflow_id).terminate()
            await bench.submit(temporal_app.twice)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)
        assert (again.run_id, again.admitted) == (started.run_id, "existing")

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)


def test_a_child_that_temporal_has_forgotten_is_not_begun_again(bench: Bench, empty: str) -> None:
    """Its parent is executed from the top, as it is when it continues as new."""

    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.family)
            await bench.until(started, lambda run: run["reason"] == "signal")
            await bench.rests(started)
        async with forgetful(bench, empty) as client:
            await bench.submit(temporal_app.family)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)
            assert not await exists(client, f"half:{bench.name}-child")

    asyncio.run(story())
    assert (bench.records, len(app.runs.list()["items"])) == (1, 2)


def test_a_child_belongs_to_its_parent_and_to_whoever_submitted_that(bench: Bench) -> None:
    """So that nobody approves what was asked for in one's own name."""

    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.parent, by="ana")
            child = (await bench.until_listed(2))[0]
            run = await bench.until(child["run_id"], lambda run: run["reason"] == "review")
            (review,) = run["records"]["approvals"]
            with pytest.raises(Exception, match="ana"):
                await app.reviews.approve(
                    review["review_id"], digest=review["digest"], by="ana", secret="secret-of-ana"
                )
            await app.reviews.approve(review["review_id"], digest=review["digest"], by="bob", secret="secret-of-bob")
            await bench.result(started)

    asyncio.run(story())
    assert bench.records == 1


@pytest.mark.parametrize("here", ["ledger", "Temporal"])
def test_cancelling_a_parent_cancels_what_it_has_begun(bench: Bench, here: str) -> None:
    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.parent)
            child = (await bench.until_listed(2))[0]["run_id"]
            await bench.until(child, lambda run: run["reason"] == "review")
            handle = client.get_workflow_handle(started.workflow_id)
            await (app.runs.cancel(started.run_id) if here == "ledger" else handle.cancel())
            for workflow_id in (started.workflow_id, f"asks:{bench.name}-child"):
                with pytest.raises(WorkflowFailureError):
                    await asyncio.wait_for(client.get_workflow_handle(workflow_id).result(), 30)
            for run_id in (started.run_id, child):
                assert (await bench.until(run_id, ended))["state"] == "cancelled"

    asyncio.run(story())
    assert bench.records == 0


def test_a_signal_is_stored_before_the_workflow_continues_as_new(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The activity that stores it fails once: a workflow that went on at once would leave it behind."""
    tries: list[str] = []

    def fails_once(*given: Any) -> StoreSignal:
        tries.append("once")
        if len(tries) == 1:
            raise RuntimeError("a worker that died")
        return StoreSignal(*given)

    async def story() -> None:
        async with bench.worker(Patience(history=20)) as client:
            started = await bench.submit(temporal_app.heard)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            assert await bench.result(started) == "on"
            assert (await bench.until(started, ended))["generation"] > 0

    monkeypatch.setattr(activities, "StoreSignal", fails_once)
    asyncio.run(story())
    assert len(tries) == 2


def test_what_was_too_late_stays_so_in_a_new_generation(bench: Bench) -> None:
    async def story() -> None:
        bench.crm.fault("slow", seconds=0.5)
        async with bench.worker(Patience(history=25)):
            started = await bench.submit(temporal_app.in_time)
            assert await bench.result(started) == "too late"
            assert (await bench.until(started, ended))["generation"] > 0

    asyncio.run(story())
    assert bench.records == 1


@pytest.mark.parametrize(
    "odd",
    [
        Payload(metadata={"encoding": b"binary/plain"}, data=b"\x00\xff"),
        Payload(metadata={"encoding": b"json/plain"}, data=b"{no json"),
        Payload(metadata={"encoding": b"json/plain"}, data=b'{"word": NaN}'),
    ],
    ids=["bytes", "no-json", "nan"],
)
def test_a_signal_that_nobody_can_read_breaks_nothing(bench: Bench, odd: Payload) -> None:
    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.heard)
            handle = client.get_workflow_handle(started.workflow_id)
            await handle.signal("go", RawValue(odd))
            await handle.signal("go", {"word": "on"})
            assert await bench.result(started) == "on"

    asyncio.run(story())


def test_cancelled_while_its_end_waits_for_a_person(bench: Bench) -> None:
    async def story() -> None:
        changed["forbidden"] = True
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.stubborn)
            await bench.until(started, lambda run: run["reason"] == "step_failed")
            await client.get_workflow_handle(started.workflow_id).cancel()
            with pytest.raises(WorkflowFailureError):
                await bench.result(started)
            assert (await bench.until(started, ended))["state"] == "cancelled"

    asyncio.run(story())


def test_a_task_group_in_a_workflow_that_is_cancelled(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.grouped)
            await bench.until(started, lambda run: run["reason"] == "review")
            await app.runs.cancel(started.run_id)
            with pytest.raises(WorkflowFailureError):
                await bench.result(started)
            assert (await bench.until(started, ended))["state"] == "cancelled"

    asyncio.run(story())


def test_a_worker_that_lacks_the_code_leaves_the_call_to_another(bench: Bench) -> None:
    """No failure of the workflow: Temporal asks again, and a worker that has it does it."""

    async def story() -> None:
        changed["missing"] = app.registry.operations.pop("create")
        try:
            async with bench.worker() as client:
                started = await bench.submit(temporal_app.half)
                handle = client.get_workflow_handle(started.workflow_id)
                never, clock = asyncio.Event(), SystemClock()
                while "temporal_unreachable" not in str((await handle.describe()).raw_description.pending_activities):
                    await clock.wait(never, clock.now_us() + 20_000)
                app.registry.operations["create"] = changed["missing"]
                await bench.result(started)
        finally:
            app.registry.operations["create"] = changed["missing"]

    asyncio.run(story())
    assert bench.records == 1


def test_a_run_goes_on_under_the_next_build_of_a_versioned_worker(bench: Bench) -> None:
    """Temporal's own worker versioning: a version of ours is a type, and every build that has it executes its runs."""

    def build(number: int) -> WorkerDeploymentConfig:
        version = WorkerDeploymentVersion(deployment_name=bench.name, build_id=f"build-{number}")
        return WorkerDeploymentConfig(version=version, use_worker_versioning=True)

    async def current(client: Client, number: int) -> None:
        asked = SetWorkerDeploymentCurrentVersionRequest(
            namespace=client.namespace, deployment_name=bench.name, build_id=f"build-{number}"
        )
        never, clock = asyncio.Event(), SystemClock()
        while True:
            try:
                await client.workflow_service.set_worker_deployment_current_version(asked)
                return
            except RPCError as problem:  # its first poll is not known yet
                if problem.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION):
                    raise
                await clock.wait(never, clock.now_us() + 50_000)

    async def story() -> None:
        async with bench.worker(deployment_config=build(1), max_cached_workflows=0) as client:
            await current(client, 1)
            started = await bench.submit(temporal_app.twice)
            await bench.until(started, lambda run: run["reason"] == "signal")
            await bench.rests(started)
        async with bench.worker(deployment_config=build(2)) as client:
            await current(client, 2)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)


@pytest.mark.parametrize("moment", ["under way", "after a reset"])
def test_a_patch_changes_no_identity(bench: Bench, moment: str) -> None:
    """A run that began with the code as it was goes on under the mended one, also from its beginning."""

    async def story() -> None:
        changed["before"] = True
        async with bench.worker(max_cached_workflows=0):  # else its queue outlives it by 10 seconds
            started = await bench.submit(temporal_app.mended)
            before = await bench.until(started, lambda run: run["reason"] == "signal")
            await bench.rests(started)
        del changed["before"]
        async with bench.worker() as client:
            if moment == "after a reset":
                await bench.reset(started)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)
        run = await bench.until(started, ended)
        first = before["records"]["operations"][0]["operation_id"]
        assert run["records"]["operations"][0]["operation_id"] == first
        steps = [e for e in run["records"]["execution_state"]["entries"] if e["kind"] == "step"]
        assert len(steps) == (moment == "after a reset")

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)
