"""Workflows on a real server of Temporal, killed, retried, reset and answered late. What the receiver holds decides."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowContinuedAsNewError, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from counterfoil.integrations.temporal import Patience, carrying
from counterfoil.integrations.temporal.messages import Input
from tests.edges import temporal_app
from tests.edges.temporal_app import Case, app, changed
from tests.edges.temporal_bench import Bench, benched, killed
from tests.servers.postgres import shared as postgres


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


def ended(run: dict[str, Any]) -> bool:
    return run["state"] in ("completed", "failed", "cancelled")


def waits_for_review(run: dict[str, Any]) -> bool:
    return run["state"] == "waiting" and run["reason"] == "review"


def parked(run: dict[str, Any]) -> bool:
    return run["state"] == "parked"


def kinds(run: dict[str, Any]) -> str:
    """What its journal holds, in its order."""
    return " ".join(entry["kind"] for entry in run["records"]["execution_state"]["entries"])


def test_killed_after_the_receiver_accepted(bench: Bench) -> None:
    async def story() -> None:
        await bench.connect()
        with bench.life(crash_at="operation.replied") as first:
            started = await bench.submit(temporal_app.once)
            await killed(first)
            assert bench.records == 1
        async with bench.worker():
            await bench.result(started)
        run = await bench.until(started, ended)
        assert (run["state"], run["records"]["operations"][0]["status"]) == ("completed", "succeeded")

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 2)


def test_the_activity_times_out_while_its_request_is_under_way(bench: Bench) -> None:
    """The zombie: Temporal gives the activity up and begins another, while the first one still waits for the receiver."""

    async def story() -> None:
        bench.crm.fault("slow", seconds=4)
        patience = Patience(longest=timedelta(seconds=1), heartbeat=timedelta(seconds=1))
        async with bench.worker(patience) as client:
            started = await bench.submit(temporal_app.once)
            await bench.result(started)
            run = await bench.until(started, ended)
            history = await client.get_workflow_handle(started.workflow_id).fetch_history()
        attempts = [e.activity_task_started_event_attributes.attempt for e in history.events]
        assert max(attempts) > 1, "Temporal did give it up"
        (operation,) = run["records"]["operations"]
        assert [attempt["n"] for attempt in operation["attempts"]] == [1]

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_the_second_activity_runs_in_another_process_while_the_first_one_sends(bench: Bench) -> None:
    """The zombie holds the run's lease, and Temporal has given it up: whoever comes waits for what it brings."""

    async def story() -> None:
        bench.crm.fault("slow", seconds=6)
        client = await bench.connect()
        with bench.life(longest=1):
            started = await bench.submit(temporal_app.once)
            await bench.until(started, lambda run: "in_flight" in str(run["records"]["operations"]))
            async with bench.worker(Patience(longest=timedelta(seconds=1))):
                await bench.result(started)
        history = await client.get_workflow_handle(started.workflow_id).fetch_history()
        assert max(e.activity_task_started_event_attributes.attempt for e in history.events) > 1
        run = await bench.until(started, ended)
        assert [attempt["n"] for attempt in run["records"]["operations"][0]["attempts"]] == [1]

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_a_defect_in_a_call_is_tried_again_before_its_lease_would_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception that no run can cause: the lease of 30 seconds is given up with it."""
    failed: list[str] = []

    async def once_broken(*given: Any) -> Any:
        if not failed:
            failed.append("once")
            raise RuntimeError("a defect")
        return await carrying.perform(*given)

    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.once)
            await asyncio.wait_for(bench.result(started), 20)

    monkeypatch.setitem(carrying.KINDS, "perform", once_broken)
    asyncio.run(story())
    assert (bench.records, bench.requests, failed) == (1, 1, ["once"])


def test_reset_after_the_effect(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.twice)
            before = await bench.until(started, lambda run: run["reason"] == "signal")
            await bench.reset(started)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)
            run = await bench.until(started, ended)
            again = await bench.submit(temporal_app.twice)
        assert again.run_id == started.run_id, "the first execution's id is still the same"
        kept = [each["operation_id"] for each in before["records"]["operations"]]
        assert [each["operation_id"] for each in run["records"]["operations"]][:1] == kept

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)


def test_a_reset_to_other_content_parks_for_a_person(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.twice)
            await bench.until(started, lambda run: run["reason"] == "signal")
            changed["note"] = "other words"
            await bench.reset(started)
            run = await bench.until(started, parked)
            assert (run["reason"], run["owner"]) == ("code_changed", "desk")
            assert "create#1" in run["sentence"]
            assert run["next_action"]["command"]

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_a_reset_of_a_run_that_has_ended_changes_nothing(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.stumbles)
            first = await bench.result(started)
            await bench.reset(started)
            assert await bench.result(started) == first
            entries = (await bench.until(started, ended))["records"]["execution_state"]["head"]
            changed["note"] = "other words"
            await bench.reset(started)
            with pytest.raises(WorkflowFailureError) as failed:
                await bench.result(started)
            assert isinstance(failed.value.cause, ApplicationError) and failed.value.cause.type == "temporal_reset"
        assert (await bench.until(started, ended))["records"]["execution_state"]["head"] == entries

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_a_step_that_a_deployment_added_changes_no_identity(bench: Bench) -> None:
    """As `patched` does: what stands before a write has no part in its position."""

    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.twice)
            await bench.until(started, lambda run: run["reason"] == "signal")
            changed["step"] = True
            await bench.reset(started)
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            await bench.result(started)

    asyncio.run(story())
    assert (bench.records, bench.requests) == (2, 2)


def test_an_approval_arrives_while_no_worker_is_up(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.reviewed)
            run = await bench.until(started, waits_for_review)
            await bench.rests(started)
        await bench.approve(run)
        assert bench.records == 0
        async with bench.worker():
            await bench.result(started)

    asyncio.run(story())
    assert bench.records == 1


def test_a_review_is_answered_in_the_very_moment_in_which_it_is_opened(bench: Bench) -> None:
    """While the activity that opened it still drives the run: nothing is relayed, and nothing is lost."""

    async def story() -> None:
        def open_(n: int) -> Callable[[dict[str, Any]], bool]:
            return lambda run: [a["state"] for a in run["records"]["approvals"]][n:] == ["open"]

        async with bench.worker():
            started = await bench.submit(temporal_app.revised)
            for n in range(3):
                review = (await bench.until(started, open_(n)))["records"]["approvals"][n]
                digest = review["digest"]
                if n < 2:  # who asks for another version does not approve it
                    await app.reviews.reject(
                        review["review_id"], digest=digest, by="ana", secret="secret-of-ana", comment=f"no {n}",
                        ask_revision=True,
                    )  # fmt: skip
                else:
                    await app.reviews.approve(review["review_id"], digest=digest, by="bob", secret="secret-of-bob")
            assert await bench.result(started) == 3

    asyncio.run(story())
    assert bench.records == 1


def test_a_workflow_that_is_retried_takes_its_run_up(bench: Bench) -> None:
    async def story() -> None:
        changed["stumble"] = 1
        async with bench.worker() as client:
            handle = await client.start_workflow(
                "stumbles-v1",
                Input({"customer": bench.name}),
                id=bench.name,
                task_queue=bench.name,
                retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=50), maximum_attempts=3),
            )
            await asyncio.wait_for(handle.result(), 30)
        runs = app.runs.list()["items"]
        assert [(run["state"], run["workflow"]) for run in runs] == [("completed", "stumbles@temporal")]

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_a_person_has_a_run_retried(bench: Bench) -> None:
    """The workflow begins anew from the record: the write answers for itself, and the step is tried again."""

    async def story() -> None:
        changed["forbidden"] = True
        async with bench.worker():
            started = await bench.submit(temporal_app.stubborn)
            run = await bench.until(started, parked)
            assert (run["reason"], run["owner"]) == ("step_failed", "desk")
            changed["forbidden"] = False
            await app.runs.retry(started.run_id)
            assert await bench.result(started) == "allowed"
        assert changed["asked"] == 2

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_with_the_ledger_on_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres().database() as url, benched(tmp_path, monkeypatch, url) as bench:

        async def story() -> None:
            async with bench.worker():
                started = await bench.submit(temporal_app.reviewed)
                run = await bench.until(started, waits_for_review)
            await bench.approve(run)
            with bench.life(crash_at="operation.replied") as first:
                await killed(first)
            async with bench.worker():
                await bench.result(started)

        asyncio.run(story())
        assert (bench.records, bench.requests) == (1, 2)


def test_a_long_history_goes_on_in_a_new_generation(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker(Patience(history=40)):
            started = await bench.submit(temporal_app.long)
            assert await bench.result(started) == 12
            run = await bench.until(started, ended)
        assert run["generation"] > 0
        assert changed["counted"] == 12, "no step ran twice"
        (operation,) = run["records"]["operations"]
        assert operation["status"] == "succeeded"

    asyncio.run(story())
    assert (bench.records, bench.requests) == (1, 1)


def test_cron_is_refused(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker() as client:
            handle = await client.start_workflow(
                "once-v1",
                Input({"customer": bench.name}),
                id=bench.name,
                task_queue=bench.name,
                cron_schedule="@every 1s",
            )
            with pytest.raises(WorkflowContinuedAsNewError):  # as Temporal does with every cron workflow that fails
                await asyncio.wait_for(handle.result(follow_runs=False), 30)
            first = client.get_workflow_handle(bench.name, run_id=handle.first_execution_run_id)
            assert "temporal_cron" in (await first.fetch_history()).to_json()
            await client.get_workflow_handle(bench.name).terminate()

    asyncio.run(story())
    assert app.runs.list()["items"] == []
    assert bench.records == 0


def test_a_doubt_stops_the_run_until_a_person_resolves_it(bench: Bench) -> None:
    """Rule 13: the other branch writes nothing while the outcome of the first is unknown."""

    async def story() -> None:
        bench.crm.fault("drop-reply")
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.both)
            run = await bench.until(started, parked)
            assert run["reason"] == "outcome_unknown"
            await client.get_workflow_handle(started.workflow_id).signal("go", {"word": "on"})
            # Both branches ask, and the run is parked once more.
            run = await bench.until(started, lambda run: "parked" in kinds(run).partition("signal")[2])
            assert (bench.records, run["reason"]) == (1, "outcome_unknown")
            (doubt,) = [each for each in run["records"]["operations"] if each["status"] == "unknown"]
            await app.operations.resolve(
                doubt["operation_id"], as_="succeeded", by="oscar", secret="secret-of-oscar", reason="it is there",
                evidence="seen", expect_version=doubt["version"], reference="case-1",
            )  # fmt: skip
            await bench.result(started)

    asyncio.run(story())
    assert bench.records == 2


def test_cancelling_on_either_side(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker() as client:
            started = await bench.submit(temporal_app.reviewed)
            run = await bench.until(started, waits_for_review)
            await app.runs.cancel(run["run_id"])
            with pytest.raises(WorkflowFailureError):
                await bench.result(started)
            assert (await bench.until(started, ended))["state"] == "cancelled"
            other = await client.start_workflow(
                "reviewed-v1", Input({"customer": f"{bench.name}-2"}), id=f"{bench.name}-2", task_queue=bench.name
            )
            await bench.until(run["run_id"], ended)
            listed = await bench.until_listed(2)
            await bench.until(listed[0]["run_id"], waits_for_review)
            await other.cancel()
            with pytest.raises(WorkflowFailureError):
                await asyncio.wait_for(other.result(), 30)
            assert (await bench.until(listed[0]["run_id"], ended))["state"] == "cancelled"

    asyncio.run(story())
    assert bench.records == 0


def test_each_call_says_what_it_says_embedded(bench: Bench) -> None:
    async def story() -> None:
        async with bench.worker():
            started = await bench.submit(temporal_app.everything, f"{bench.name}-t")
            theirs = await bench.result(started)
        async with app.worker():
            submitted = await app.submit(
                temporal_app.everything, Case(customer=f"{bench.name}-e"), request_id=f"{bench.name}-e"
            )
            ours = await submitted.result()
        assert theirs == ours

    asyncio.run(story())
