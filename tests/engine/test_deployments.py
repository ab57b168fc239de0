"""Before a deployment: what new code makes of the runs that are open, seen from a copy, and nothing moves."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.errors import StepFailed
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case

pytestmark = pytest.mark.usefixtures("house")


def one(number: str) -> str:
    return f"one of {number}"


def two(number: str) -> str:
    return f"two of {number}"


class Go(BaseModel):
    """A signal."""

    word: str = "go"


async def before(run: Run, order: Order) -> str:
    first = await run.step(one, order.number)
    await run.wait_for("go", Go, within=BUDGET.elapsed)
    return first


def named(function: Any) -> Any:
    """Under the one name that all versions have."""
    function.__name__ = "flow"
    return function


def deployed(house: House, function: Any) -> Any:
    """The same database in a new process with other code. Gives the workflow."""
    house.app.close()
    house.app = house.new_app()
    return house.app.workflow(version=1, budget=BUDGET)(named(function))


def left_waiting(house: House, *numbers: str) -> list[str]:
    """Runs of `before` that wait for a signal."""
    house.found()
    flow = house.app.workflow(version=1, budget=BUDGET)(named(before))

    async def play() -> list[str]:
        made = [(await house.app.submit(flow, Order(number=number), request_id=number)).run_id for number in numbers]
        async with house.working():
            for run_id in made:
                await house.state(run_id, "waiting")
        return made

    return asyncio.run(play())


def copied(house: House, to: Path) -> Path:
    """A copy of the database at another place, as an operator makes it."""
    file = to / "copy.db"
    with closing(apsw.Connection(str(house.folder / "db" / "house.db"))) as live:
        live.execute("VACUUM INTO ?", (str(file),))
    return file


def with_code(file: Path, function: Any, *, version: int = 1, budget: Budget = BUDGET) -> App:
    """The application of the next deployment."""
    app = App("house", db=str(file))
    app.workflow(version=version, budget=budget)(named(function))
    return app


def checked(house: House, tmp_path: Path, function: Any, **more: Any) -> dict[str, Any]:
    return asyncio.run(with_code(copied(house, tmp_path), function, **more).deployments.check())


def written(file: Path) -> Any:
    with closing(apsw.Connection(str(file))) as connection:
        return list(connection.execute("SELECT run_id, sequence, digest FROM entries ORDER BY ordinal"))


def test_the_same_code_goes_on_and_nothing_is_written(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a", "b")
    file = copied(house, tmp_path)
    was = written(file)
    found = asyncio.run(with_code(file, before).deployments.check())
    assert found["items"] == []
    assert found["summary"] == {"open": 2, "checked": 2, "goes_on": 2, "parks": 0, "fails": 0, "not_checked": 0}
    assert written(file) == was
    assert not list(tmp_path.glob("*.locks/*"))


def test_a_step_that_came_before_is_named_with_both_sides_and_the_ways_on(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a")

    async def now(run: Run, order: Order) -> str:
        await run.step(two, order.number)
        return await before(run, order)

    (item,) = checked(house, tmp_path, now)["items"]
    assert (item["verdict"], item["reason"], item["position"]) == ("parks", "code_changed", "1")
    assert item["recorded"].startswith("one ") and item["asked"].startswith("two ")
    assert len(item["ways_on"]) == 3 and "run.changed" in item["ways_on"][2]


def test_what_it_foretells_is_what_a_worker_does(house: House, tmp_path: Path) -> None:
    (run_id,) = left_waiting(house, "a")

    async def now(run: Run, order: Order) -> str:
        return await run.step(two, order.number)

    (item,) = checked(house, tmp_path, now)["items"]
    deployed(house, now)

    async def play() -> str:
        await house.app.signal(run_id, "go", Go(), signal_id="1")
        async with house.working():
            return (await house.state(run_id, "parked")).sentence

    sentence = asyncio.run(play())
    assert house.run(run_id).reason == item["reason"] == "code_changed"
    assert item["recorded"] in sentence and item["asked"] in sentence


def test_a_version_that_is_gone_parks_for_a_worker(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a")
    (item,) = checked(house, tmp_path, before, version=2)["items"]
    assert (item["verdict"], item["reason"]) == ("parks", "no_worker")


def test_code_that_raises_would_fail_the_run(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a")

    async def now(run: Run, order: Order) -> str:
        await run.step(one, order.number)
        raise ValueError("new and wrong")

    (item,) = checked(house, tmp_path, now)["items"]
    assert item["verdict"] == "fails" and "new and wrong" in item["sentence"]


def test_code_that_ends_before_a_recorded_write_would_lose_it(house: House, tmp_path: Path) -> None:
    house.found()
    operation = create_case(house.app, "key", review=True)

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        return (await run.perform(operation, order)).reference

    async def play() -> None:
        made = (await house.app.submit(flow, Order(number="a"), request_id="a")).run_id
        async with house.working():
            await house.state(made, "waiting")

    asyncio.run(play())

    async def now(run: Run, order: Order) -> str:
        return "nothing"

    app = with_code(copied(house, tmp_path), now)
    app.receiver("crm", url="http://127.0.0.1:9", environment="test")
    create_case(app, "key", review=True)
    (item,) = asyncio.run(app.deployments.check())["items"]
    assert (item["verdict"], item["recorded"]) == ("fails", "create_case") and "withdrawn" in item["sentence"]


def test_a_failure_that_only_new_code_makes_is_told(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a")

    async def now(run: Run, order: Order) -> str:
        raise StepFailed("new", "it refuses what it took before")

    (item,) = checked(house, tmp_path, now)["items"]
    assert (item["verdict"], item["reason"]) == ("parks", "step_failed")


def test_no_step_is_executed_and_branches_are_all_seen(house: House, tmp_path: Path) -> None:
    left_waiting(house, "a")
    done: list[str] = []

    def three(number: str) -> str:
        done.append(number)
        return number

    async def now(run: Run, order: Order) -> str:
        await before(run, order)
        await run.gather(run.step(three, "x"), run.step(three, "y"))
        return ""

    async def aside(run: Run, order: Order) -> str:
        first = run.branch(run.step(three, "x"))
        await run.sleep(BUDGET.elapsed)
        return await first

    assert checked(house, tmp_path, now)["items"] == []
    (tmp_path / "copy.db").unlink()
    (item,) = checked(house, tmp_path, aside)["items"]
    assert (item["reason"], item["position"]) == ("code_changed", "1")
    assert not done


def test_a_sample_is_spread_over_the_runs_of_each_version(house: House, tmp_path: Path) -> None:
    left_waiting(house, *"abcdefghij")
    app = with_code(copied(house, tmp_path), before)
    assert asyncio.run(app.deployments.check(sample=3))["summary"]["checked"] == 3
    assert asyncio.run(app.deployments.check(sample=50))["summary"]["checked"] == 10
    assert asyncio.run(app.deployments.check(workflow="other"))["summary"]["open"] == 0


def test_versions_say_what_can_be_retired(house: House) -> None:
    left_waiting(house, "a", "b")

    @house.app.workflow(version=2, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        return order.number

    items = {(i["workflow"], i["version"]): i for i in house.app.deployments.versions()["items"]}
    old, new = items["flow", 1], items["flow", 2]
    assert (old["open_runs"], old["needed"], old["states"]) == (2, True, {"waiting": 2})
    assert "no worker" in old["sentence"]
    assert (new["open_runs"], new["needed"], new["sentence"]) == (0, False, "New runs are of it.")


# ---------------------------------------------------------------------- run.changed


async def marked(run: Run, order: Order) -> str:
    """`before`, with a change that is marked."""
    if await run.changed("asks twice"):
        await run.step(two, order.number)
    first = await run.step(one, order.number)
    await run.wait_for("go", Go, within=BUDGET.elapsed)
    return first + (", changed" if await run.changed("asks twice") else ", as before")


def gone_on(house: House, run_id: str) -> str:
    async def play() -> str:
        await house.app.signal(run_id, "go", Go(), signal_id=f"{run_id}/1")
        async with house.working():
            await house.state(run_id, "completed", "parked", "failed")
        return str(house.run(run_id).result)

    return asyncio.run(play())


def test_a_marked_change_leaves_older_runs_on_their_way(house: House, tmp_path: Path) -> None:
    (old,) = left_waiting(house, "a")
    assert checked(house, tmp_path, marked)["items"] == []
    flow = deployed(house, marked)

    async def play() -> str:
        made = (await house.app.submit(flow, Order(number="b"), request_id="b")).run_id
        async with house.working():
            await house.state(made, "waiting")
        return made

    new = asyncio.run(play())
    deployed(house, marked)  # another process: it has only the record
    assert gone_on(house, old) == '"one of a, as before"'
    assert gone_on(house, new) == '"one of b, changed"'
    assert [position for kind, position, _ in house.entries(new) if kind == "step"] == ["changed asks twice", "1", "2"]
    assert house.count(old, "step") == 1


def test_the_id_of_a_change_is_a_name(house: House) -> None:
    house.found()

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        return str(await run.changed(order.number))

    async def play(number: str) -> str:
        made = (await house.app.submit(flow, Order(number=number), request_id=f"r{len(number)}")).run_id
        async with house.working():
            await house.state(made, "completed", "failed")
        return str(house.run(made).failure or house.run(made).result)

    assert "usage" in asyncio.run(play(" "))
    assert "usage" in asyncio.run(play("x" * 101))
    assert asyncio.run(play("x" * 100)) == '"True"'
