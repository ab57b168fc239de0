"""Who cancels a run cancels what it has begun: nothing more is sent there either, and the run ends after it."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from counterfoil import Run
from counterfoil.engine.cancelling import AskToCancel
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.leases import Claim
from counterfoil.engine.submission import child_submission
from counterfoil.engine.verb import Deadlines
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case, writing

ORDER = Order(number="1")


def waiting(house: House) -> Workflow[Order, int]:
    @house.app.workflow(version=1, budget=BUDGET)
    async def kid(run: Run, order: Order) -> int:
        return await run.wait_for("news", int, within=timedelta(hours=1))

    return kid


def asking(house: House, child: Workflow[Order, int]) -> Workflow[Order, int]:
    @house.app.workflow(version=1, budget=BUDGET)
    async def parent(run: Run, order: Order) -> int:
        await run.child(child, order, request_id=f"{order.number} below")
        return 1

    return parent


def child_of(house: House, run_id: str) -> RunRecord:
    (child,) = children_of(house, run_id)
    return child


def children_of(house: House, run_id: str) -> list[RunRecord]:
    with house.app.open().read() as reader:
        return reader.find(RunRecord, "parent_run_id", run_id)


def test_children_and_theirs_end_before_it(house: House) -> None:
    kid = waiting(house)
    middle = asking(house, kid)

    @house.app.workflow(version=1, budget=BUDGET)
    async def top(run: Run, order: Order) -> int:
        await run.gather(
            run.child(kid, Order(number="2"), request_id="two"),
            run.child(middle, Order(number="3"), request_id="three"),
        )
        return 1

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = (await house.app.submit(top, ORDER, request_id="r")).run_id
            await house.state(run_id, "waiting")
            family = children_of(house, run_id)
            for each in family:
                await house.state(each.run_id, "waiting")
            family += [below for each in family for below in children_of(house, each.run_id)]
            assert [run.workflow for run in family] == ["kid", "parent", "kid"]
            await house.state(family[2].run_id, "waiting")
            await house.app.runs.cancel(run_id, by="ana", reason="not wanted")
            last = await house.state(run_id, "cancelled")
        ended = [house.run(each.run_id) for each in family]
        assert [run.state for run in ended] == [RunState.CANCELLED] * 3
        assert all(run.updated_at <= last.updated_at for run in ended)
        asked = [data for kind, _, data in house.entries(family[2].run_id) if kind == "cancel_asked"]
        assert asked == [{"by": "ana", "reason": "not wanted", "with": run_id}]
        house.clean()

    asyncio.run(story())


def test_a_child_that_nobody_has_claimed_never_begins(house: House) -> None:
    begun: list[str] = []

    @house.app.workflow(version=1, budget=BUDGET)
    async def kid(run: Run, order: Order) -> int:
        begun.append(order.number)
        return 1

    parent = asking(house, kid)

    async def story() -> None:
        house.found()
        run_id = (await house.app.submit(parent, ORDER, request_id="r")).run_id
        worker = house.app.new_worker(only=frozenset({run_id}))
        await asyncio.wait_for(worker.run(until_idle=True), 20)
        child = child_of(house, run_id)
        assert (house.run(run_id).reason, child.state) == ("child", RunState.PENDING)
        await house.app.runs.cancel(run_id, by="ana")
        assert house.run(child.run_id).cancel_asked, "in the commit that cancels its parent: no worker is needed for it"
        async with house.working():
            await house.state(run_id, "cancelled")
        assert house.run(child.run_id).state is RunState.CANCELLED and begun == []
        house.clean()

    asyncio.run(story())


def test_one_that_was_overlooked_is_asked_by_whoever_drives_its_parent(house: House) -> None:
    """Begun in the moment between the look and the commit."""
    parent = asking(house, waiting(house))

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = (await house.app.submit(parent, ORDER, request_id="r")).run_id
            await house.state(run_id, "waiting")
            child = child_of(house, run_id)
            await house.state(child.run_id, "waiting")
            await house.app.open().write(AskToCancel(run_id, "ana", ""))
            await house.state(run_id, "cancelled")
            assert house.run(child.run_id).state is RunState.CANCELLED

    asyncio.run(story())


def test_who_lost_the_parents_fence_begins_no_child_and_a_cancelled_parent_none_that_runs(house: House) -> None:
    kid = waiting(house)
    parent = asking(house, kid)

    async def story() -> None:
        house.found()
        run_id = (await house.app.submit(parent, ORDER, request_id="r")).run_id
        opened = house.app.open()

        def begins(parent: RunRecord, request: str) -> str:
            given = ORDER.model_dump(mode="json")
            verb = child_submission(
                opened.installation_id, kid, given, request, Deadlines(), parent=parent, position="9"
            )
            house.ask(verb)
            return verb.run_id

        driven = house.ask(Claim(run_id, "wrk_1", Deadlines()))
        assert house.run(begins(driven, "in time")).cancel_asked == 0
        with pytest.raises(Refused) as refused:
            begins(replace(driven, fence=driven.fence - 1), "from a worker that was frozen")
        assert refused.value.code == "fence_lost"
        house.ask(AskToCancel(run_id, "ana", ""))
        late = house.run(begins(driven, "its driver has not heard yet"))
        assert (late.cancel_asked, late.heading) == (1, "cancelled")
        house.clean()

    asyncio.run(story())


@pytest.mark.parametrize("first", ["cancelled", "doubted"])
def test_a_childs_doubt_parks_the_parent_with_the_end_it_heads_for(
    blind_house: House, blind_crm: SandboxProcess, first: str
) -> None:
    """Rule 15: the parent is not cancelled before its child is, and that not before a person has said what happened."""
    house = blind_house
    blind_crm.fault("drop-reply")
    parent = asking(house, writing(house.app, create_case(house.app, "none")))

    async def story() -> None:
        house.found()
        async with house.working():
            run_id = (await house.app.submit(parent, ORDER, request_id="r")).run_id
            await house.state(run_id, "waiting")
            child_id = child_of(house, run_id).run_id
            await house.until(child_id, lambda run: run.failed_tries == 1 and run.state.value == "waiting")
            if first == "doubted":
                house.clock.advance(2)
                await house.state(child_id, "parked")
            before = house.run(child_id).fence
            await house.app.runs.cancel(run_id, by="ana")
            if first == "cancelled":
                stored = await house.until(run_id, lambda run: run.state.value == "waiting" and run.fence > 1)
                assert (stored.reason, stored.heading) == ("child", "cancelled")
                # Not in the middle of its look: what is to come at the look, and past at its commit, is taken for a clock put back.
                await house.until(child_id, lambda run: run.state.value == "waiting" and run.fence > before)
                house.clock.advance(2)
            stored, child = await house.state(run_id, "parked"), house.run(child_id)
            assert (stored.reason, stored.heading) == ("outcome_unknown", "cancelled")
            assert f"run-{child.number}" in stored.sentence and stored.owner == child.owner
            assert (child.state, child.reason, child.heading) == (RunState.PARKED, "outcome_unknown", "cancelled")
            (operation,) = house.operations(child_id)
            await house.app.operations.resolve(
                operation.operation_id, as_="failed", reason="Looked there.", evidence=b"its list",
                expect_version=operation.version, by="oscar", secret=SECRET,
            )  # fmt: skip
            await house.state(run_id, "cancelled")
        assert house.run(child_id).state is RunState.CANCELLED
        (operation,) = house.operations(child_id)
        assert (operation.status, operation.attempts) == (OperationStatus.FAILED, 1)
        house.clean()

    asyncio.run(story())
