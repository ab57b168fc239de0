"""The limits that all workers keep together, counted at the receiver over four worker processes on one PostgreSQL.

The same is played without the limits: the receiver then counts more, so its count can tell.
"""

import asyncio
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from counterfoil.app.opening import Founding
from counterfoil.engine.clock import SystemClock
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.children import Children
from tests.crash.counting import Counting, counting
from tests.crash.fleet_forked import ForkedFleet
from tests.crash.limits_application import AT_CUSTOMER, AT_RECEIVER, AT_WORKFLOW, RATE, WORKFLOWS, Asked, app
from tests.crash.shipping import PEOPLE
from tests.servers.postgres import shared

WORKERS = 4
EACH = {"COUNTERFOIL_CONCURRENCY": "3"}  # so that no worker has all of it
RUNS, PACED = 12, 6
RETRY_AFTER_S = 3
CUSTOMERS = ("anna", "bert")


async def submitted(name: str, count: int, first: int = 0) -> list[str]:
    asked = [Asked(number=f"{name}-{n}", customer=CUSTOMERS[n % 2]) for n in range(first, first + count)]
    return [(await app.submit(WORKFLOWS[name], each, request_id=each.number)).run_id for each in asked]


async def eventually(holds: Callable[[], object]) -> None:
    clock = SystemClock()
    async with asyncio.timeout(120):
        while not holds():
            await clock.wait(asyncio.Event(), clock.now_us() + 20_000)


def completed(run_ids: list[str]) -> bool:
    with app.open().read() as reader:
        runs = [reader.get(RunRecord, run_id) for run_id in run_ids]
    return all(run is not None and run.state.value == "completed" for run in runs)


def attempts(run_ids: list[str]) -> list[AttemptRecord]:
    with app.open().read() as reader:
        return [attempt for run_id in run_ids for attempt in reader.find(AttemptRecord, "run_id", run_id)]


async def story(receiver: Counting) -> dict[str, list[str]]:
    """One limit after the other, so that each has the workers for itself."""
    ran: dict[str, list[str]] = {}
    for name, count in {"narrow": RUNS, "few": RUNS, "by_customer": RUNS, "paced": PACED}.items():
        ran[name] = await submitted(name, count)
        await eventually(lambda: completed(ran[name]))  # noqa: B023 - asked at once
    ran["asking"] = await submitted("asking", 1)
    await eventually(lambda: any(attempt.ended_at for attempt in attempts(ran["asking"])))
    ran["asking"] += await submitted("asking", RUNS // 2, first=1)
    await eventually(lambda: completed(ran["asking"]))
    return ran


def ahead_of_rate(receiver: Counting, tries: list[AttemptRecord]) -> bool:
    """Whether more came than the rate and the way from the commit to the receiver explain."""
    came = sorted(each.at for each in receiver.came if each.path == "paced")
    on_the_way = max(at - begun for at, begun in zip(came, sorted(t.started_at for t in tries), strict=True))
    spans = [(there - here, j - i + 1) for (i, here), (j, there) in combinations(enumerate(came), 2)]
    return any(span + on_the_way < (count - RATE.at_once) * RATE.interval_us for span, count in spans)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("limits", ["on", "off"])
def test_limits_counted_at_the_receiver(limits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {"narrow": AT_RECEIVER, "few": AT_WORKFLOW, "by_customer": AT_CUSTOMER * len(CUSTOMERS)}
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    with (
        counting(bounds, retry_after_s=RETRY_AFTER_S) as (receiver, address),
        shared().database() as url,
        Children("tests.crash.limits_application:app", environ={"LIMITS": limits, "COUNTING_URL": address}) as forks,
    ):
        monkeypatch.setenv("COUNTING_URL", address)
        app.db = url
        app.open(Founding(people=PEOPLE))
        fleet = ForkedFleet(forks, tmp_path, url, WORKERS, **EACH)
        try:
            ran = asyncio.run(story(receiver))
            workers = {attempt.worker_id for attempt in attempts([run for runs in ran.values() for run in runs])}
            paced = attempts(ran["paced"])
        finally:
            fleet.close()
            app.close()
    assert len(workers) > 1, "several workers sent"
    most = {name: receiver.most[name] for name in ("narrow", "few")}
    most["by_customer"] = max(receiver.most["by_customer", customer] for customer in CUSTOMERS)
    wish = (receiver.asked_at or 0) + RETRY_AFTER_S * 1_000_000
    early = [
        each.number for each in receiver.came if each.path == "asking" and (receiver.asked_at or 0) < each.at < wish
    ]
    if limits == "on":
        assert most == {"narrow": AT_RECEIVER, "few": AT_WORKFLOW, "by_customer": AT_CUSTOMER}
        assert not ahead_of_rate(receiver, paced)
        assert early == []
    else:
        assert most["narrow"] > AT_RECEIVER and most["few"] > AT_WORKFLOW and most["by_customer"] > AT_CUSTOMER
        assert ahead_of_rate(receiver, paced)
        assert early
