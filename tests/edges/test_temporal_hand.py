"""The ledger's hand beside a cluster of Temporal that says what the test wants: no server, and no moment left to chance."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from counterfoil.engine.cancelling import AskToCancel
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.finish import Resume
from counterfoil.engine.opened import Opened
from counterfoil.engine.submission import submission
from counterfoil.engine.submit import Submit
from counterfoil.integrations.temporal.activities import Activities
from counterfoil.integrations.temporal.hand import Hand
from counterfoil.integrations.temporal.identity import in_ledger
from counterfoil.integrations.temporal.messages import Begin, Begun, Call, End
from counterfoil.integrations.temporal.recalling import known_of
from counterfoil.integrations.temporal.session import CallRunner
from counterfoil.model.errors import StepFailed
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord
from counterfoil.store.port import StorageError
from tests.edges import temporal_app
from tests.edges.temporal_app import Case, app
from tests.edges.temporal_bench import Bench, benched

ENDED, LIVES = WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.RUNNING


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


class Cluster:
    """What is asked of it is written down. `there`: whether it has an open workflow; what is `meanwhile` of one happens
    before it answers."""

    namespace = "default"

    def __init__(self, *, there: bool = False, status: WorkflowExecutionStatus = ENDED) -> None:
        self.there = there
        self.status = status
        self.asked: list[tuple[str, str, str | None]] = []
        self.meanwhile: dict[str, Callable[[], Awaitable[None]]] = {}

    def get_workflow_handle(
        self, workflow_id: str, *, run_id: str | None = None, first_execution_run_id: str | None = None
    ) -> Any:
        async def say(what: str, chain: str | None) -> None:
            self.asked.append((what, workflow_id, chain))
            if workflow_id in self.meanwhile:
                await self.meanwhile[workflow_id]()
            if not self.there:
                raise RPCError("not there", RPCStatusCode.NOT_FOUND, b"")

        async def describe() -> Any:
            await say("describe", run_id)
            return SimpleNamespace(status=self.status)

        return SimpleNamespace(
            signal=lambda name: say(name, first_execution_run_id), cancel=lambda: say("cancel", first_execution_run_id),
            describe=describe,
        )  # fmt: skip


@asynccontextmanager
async def hand_at(cluster: Cluster) -> AsyncIterator[Hand]:
    hand = Hand(app.open(), cast("Client", cluster))
    working = asyncio.create_task(hand.run())
    await hand.ready.wait()
    try:
        yield hand
        assert not working.done(), "it is still there"
    finally:
        hand.stop()
        await working


async def stored(customer: str = "acme", *, first_run_id: str = "", namespace: str = "default") -> RunRecord:
    """A run of a workflow on Temporal, as its first activity finds it."""
    opened = app.open()
    origin = Origin(namespace, f"stubborn:{customer}", first_run_id)
    workflow, given = in_ledger(temporal_app.stubborn), Case(customer=customer).model_dump(mode="json")
    verb = submission(opened.installation_id, workflow, given, origin.request_id, opened.deadlines)
    await opened.write(verb)
    return row(verb.run_id)


def row(run_id: str) -> RunRecord:
    with app.open().read() as reader:
        run = reader.get(RunRecord, run_id)
    assert run is not None
    return run


async def until(true: Callable[[], bool]) -> None:
    never, clock = asyncio.Event(), SystemClock()
    end = clock.now_us() + 60_000_000
    while not true():
        assert clock.now_us() < end
        await clock.wait(never, clock.now_us() + 10_000)


def step_of(run: RunRecord, **more: Any) -> Call:
    given = {"function": "tests.edges.temporal_app:count", "inputs": {"number": 1}}
    return Call("step", run.run_id, 0, "count#", 1, run.created_at, given, **more)


def problem_of(run: RunRecord) -> End:
    return End(run.run_id, 0, problem={"type": "ValueError", "message": "it stumbled"})


# ---------------------------------------------------------------------- who begins a run


def test_a_child_that_begins_by_itself_is_its_parents_all_the_same(bench: Bench) -> None:
    """Whichever of the two stores it: the run that begins it, or the activity with which its own workflow begins."""

    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            opened, given = hand.opened, Case(customer="acme").model_dump(mode="json")
            workflow = in_ledger(temporal_app.parent)
            verb = submission(opened.installation_id, workflow, given, "default/p/", opened.deadlines, by="ana")
            begun_by = [verb.run_id, "child asks#1"]
            begin = Begin("asks", 1, "default", "asks:acme", "first", given, 0, None, True, begun_by)
            activities = Activities(app.registry, lambda: hand)
            with pytest.raises(ApplicationError, match="does not hold run") as early:
                await ActivityEnvironment().run(activities.begin, begin)
            assert not early.value.non_retryable, "its parent comes"
            await opened.write(verb)
            begun: Begun = await ActivityEnvironment().run(activities.begin, begin)
            child = row(begun.run_id)
        assert (child.parent_run_id, child.parent_position) == (verb.run_id, "child asks#1")
        assert child.submitted_by == "ana"

    asyncio.run(story())


def test_what_the_ledger_refuses_is_not_asked_for_again(bench: Bench) -> None:
    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            activities = Activities(app.registry, lambda: hand)
            begin = Begin("half", 1, "default", "half:a", "first", {"customer": "x" * 70_000}, 0, None)
            with pytest.raises(ApplicationError) as refused:
                await ActivityEnvironment().run(activities.begin, begin)
        assert (refused.value.type, refused.value.non_retryable) == ("too_large", True)

    asyncio.run(story())


# ---------------------------------------------------------------------- who may take a failed run up


@pytest.mark.parametrize(
    ("asker", "there", "status", "revived"),
    [
        ("failed-one", True, LIVES, False),  # its last task is not processed yet
        ("reset-away", True, ENDED, False),
        ("forgotten", False, ENDED, False),
        ("begun-anew", True, LIVES, True),
    ],
)
def test_only_an_execution_that_was_begun_anew_takes_a_failed_run_up(
    bench: Bench, asker: str, there: bool, status: WorkflowExecutionStatus, revived: bool
) -> None:
    async def story() -> None:
        cluster = Cluster(there=there, status=status)
        async with hand_at(cluster) as hand:
            run = await stored()
            said = await hand.end(problem_of(run), "failed-one")
            assert (said.state, said.value["state"]) == ("ended", "failed")
            said = await hand.carry_out(step_of(run), asker)
            assert (said.state == "done") is revived
            assert (row(run.run_id).state == "failed") is not revived

    asyncio.run(story())


# ---------------------------------------------------------------------- what Temporal is told


def test_a_run_that_ended_while_temporal_was_told_does_not_end_the_hand(bench: Bench) -> None:
    """Its park is refused; the hand goes on, and with it everything that it drives."""

    async def story() -> None:
        cluster = Cluster()
        async with hand_at(cluster) as hand:
            run, other = await stored("ends"), await stored("other")
            for each in (run, other):
                await hand.carry_out(step_of(each), "one")  # begun, and due again: nobody comes for it

            async def ends() -> None:
                await hand.end(problem_of(run), "one")

            cluster.meanwhile["stubborn:ends"] = ends
            await until(lambda: row(run.run_id).state == "failed" and row(other.run_id).state == "parked")

    asyncio.run(story())


def test_only_its_own_chain_of_executions_is_cancelled(bench: Bench) -> None:
    """Somebody has used the workflow id again."""

    async def story() -> None:
        cluster = Cluster(there=True)
        async with hand_at(cluster) as hand:
            run = await stored(first_run_id="the-first")
            await hand.carry_out(step_of(run), "one")
            await app.runs.cancel(run.run_id)
            await until(lambda: any(what == "cancel" for what, _, _ in cluster.asked))
        assert ("cancel", "stubborn:acme", "the-first") in cluster.asked

    asyncio.run(story())


def test_a_cancelled_run_whose_workflow_is_gone_ends(bench: Bench) -> None:
    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            run = await stored()
            await hand.carry_out(step_of(run), "one")
            await app.runs.cancel(run.run_id)
            await until(lambda: row(run.run_id).state == "cancelled")

    asyncio.run(story())


def test_one_that_nobody_started_yet_is_not_parked_and_one_that_is_gone_is(bench: Bench) -> None:
    async def story() -> None:
        cluster = Cluster()
        async with hand_at(cluster) as hand:
            new, begun = await stored("new"), await stored("begun")
            await hand.carry_out(step_of(begun), "one")
            await until(lambda: row(begun.run_id).state == "parked" and "stubborn:new" in str(cluster.asked))
            assert row(begun.run_id).reason == "no_progress"
            assert row(new.run_id).state == "pending"

    asyncio.run(story())


def test_runs_of_another_namespace_keep_nobody_from_being_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        cluster = Cluster(there=True)
        async with hand_at(cluster) as hand:
            for n in range(6):
                other = await stored(f"other-{n}", namespace="elsewhere")
                await hand.carry_out(step_of(other), "one")
            run = await stored("mine")
            await hand.carry_out(step_of(run), "one")
            await until(lambda: "stubborn:mine" in str(cluster.asked))
        assert "other" not in str(cluster.asked)

    monkeypatch.setattr("counterfoil.integrations.temporal.hand.AT_ONCE", 2)
    asyncio.run(story())


# ---------------------------------------------------------------------- what was lost in between


def test_after_a_restore_an_execution_begins_anew(bench: Bench) -> None:
    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            run = await stored()
            here = hand.opened.installation().incarnation
            assert (await hand.carry_out(step_of(run, incarnation=here), "one")).state == "done"
            for call in (step_of(run, incarnation=here + 1), replace(step_of(run), run_id="lost")):
                assert (await hand.carry_out(call, "one")).state == "again"
            assert (await hand.end(replace(problem_of(run), incarnation=here + 1), "one")).state == "again"
        assert row(run.run_id).state == "pending", "nothing was ended by it"

    asyncio.run(story())


def test_a_retry_is_not_lost_with_the_answer_that_told_of_the_park(bench: Bench) -> None:
    """The end is asked for again, as if it were the first time: the workflow begins anew, and the step is tried again."""

    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            run = await stored()
            failure = StepFailed("forbidden", "acme").facts()
            end = End(run.run_id, 0, failure=failure, begun_at=run.sequence)
            assert (await hand.end(end, "one")).state == "waits"
            assert row(run.run_id).reason == "step_failed"
            await hand.opened.write(Resume(run.run_id, None, True, {}, hand.opened.deadlines))
            assert (await hand.end(end, "one")).state == "again"
            anew = replace(end, begun_at=row(run.run_id).sequence)
            assert (await hand.end(anew, "one")).state == "waits", "once"

    asyncio.run(story())


def test_a_receipt_that_was_reused_is_recalled(bench: Bench) -> None:
    """It is another run's, which carried the same intention."""

    async def story() -> None:
        async with app.worker():
            for request_id in ("a", "b"):
                run = await app.submit(temporal_app.once, Case(customer="acme"), request_id=request_id)
                await run.result()
        known, _ = known_of(app.open(), row(run.run_id))
        (said,) = known.values()
        assert (said.state, said.value["reference"]) == ("done", bench.crm.records()[0]["id"])

    asyncio.run(story())
    assert bench.records == 1


# ---------------------------------------------------------------------- what is no crash of the run


def test_what_the_database_failed_is_given_back_and_no_crash(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    drive, tries = CallRunner.drive, list[str]()

    async def fails_twice(self: CallRunner) -> None:
        tries.append("once")
        if len(tries) < 3:
            raise StorageError("database_down", problem="the disk is full")
        await drive(self)

    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            run = await stored()
            for _ in range(2):
                with pytest.raises(StorageError):
                    await hand.carry_out(step_of(run), "one")
                assert (row(run.run_id).state, row(run.run_id).crashes) == ("pending", 0)
            assert (await hand.carry_out(step_of(run), "one")).state == "done"

    monkeypatch.setattr(CallRunner, "drive", fails_twice)
    asyncio.run(story())


def test_a_database_that_is_busy_is_no_refusal(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins a run is tried again, and what is to be cancelled is not completed instead."""
    write, failing = Opened.write, set[type]()

    async def busy(self: Opened, verb: Any) -> Any:
        if type(verb) in failing:
            raise StorageError("database_busy", path="the ledger", holder="somebody")
        return await write(self, verb)

    async def story() -> None:
        async with hand_at(Cluster()) as hand:
            run = await stored()
            failing.update((Submit, AskToCancel))
            activities = Activities(app.registry, lambda: hand)
            given = Case(customer="acme").model_dump(mode="json")
            begin = Begin("half", 1, "default", "half:a", "one", given, 0, None)
            with pytest.raises(StorageError):
                await ActivityEnvironment().run(activities.begin, begin)
            with pytest.raises(StorageError):
                await hand.end(End(run.run_id, 0, cancelled=True), "one")
            assert row(run.run_id).state == "pending"
            failing.clear()
            assert (await hand.end(End(run.run_id, 0, cancelled=True), "one")).value["state"] == "cancelled"

    monkeypatch.setattr(Opened, "write", busy)
    asyncio.run(story())
