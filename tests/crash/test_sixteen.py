"""Sixteen workers on one PostgreSQL: some are killed, some frozen past their leases and thawed, some told to end."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from counterfoil.engine.clock import SystemClock
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader
from counterfoil.testing.children import Child, Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.fleet import SECRET
from tests.crash.fleet_application import KINDS, app
from tests.crash.fleet_forked import ForkedFleet
from tests.crash.shipping import Shipped, ledger, receivers, submit, until_accounted, weighed
from tests.crash.witness import at_once, inside
from tests.servers.postgres import shared

WORKERS = 16
PLACES = 3  # runs that a worker drives at once: those that are not frozen have room for all runs
RUNS = 33
LEASE_S = 10  # twice as long as a frozen worker may hold up everybody's commits: nobody else loses a lease by it
Held = dict[str, SandboxProcess]


@pytest.fixture
def held() -> Iterator[Held]:
    with receivers() as made:
        yield made


@pytest.fixture
def fleet(tmp_path: Path, held: Held) -> Iterator[ForkedFleet]:
    places = {"FLEET_PLACES": str(RUNS)}
    settings = {"COUNTERFOIL_CONCURRENCY": str(PLACES), "COUNTERFOIL_LEASE_SECONDS": str(LEASE_S)}
    with (
        shared().database() as url,
        ledger(url, str(tmp_path / "state")),
        Children("tests.crash.fleet_application:app", environ=places) as forks,
    ):
        made = ForkedFleet(forks, tmp_path, url, WORKERS, **settings)
        yield made
        made.close()


async def eventually(holds: Callable[[], object], within_s: float = 120) -> None:
    """Other processes' doings are seen by looking."""
    clock = SystemClock()
    async with asyncio.timeout(within_s):
        while not holds():
            await clock.wait(asyncio.Event(), clock.now_us() + 20_000)


@pytest.mark.timeout(300)  # under a minute where nothing else works
def test_of_sixteen_workers_three_are_frozen_three_killed_and_three_told_to_end(fleet: ForkedFleet, held: Held) -> None:
    for sandbox in held.values():
        sandbox.fault("hang", count=5, seconds=1.0)  # so that much is under way when they are struck

    async def story() -> list[Shipped]:
        shipped = [await submit(number, KINDS[number % len(KINDS)]) for number in range(RUNS)]
        await eventually(lambda: len(inside(fleet.witness)) == RUNS)
        driving = [fleet.of(pid) for pid, _ in Counter(inside(fleet.witness).values()).most_common()]
        assert len(driving) >= RUNS // PLACES, "the work is shared"
        frozen, killed, told = driving[:3], driving[3:6], driving[6:9]
        await thawed_too_late(fleet, frozen)
        fleet.gate.touch()
        await eventually(lambda: all(sandbox.records() for sandbox in held.values()))
        for worker in told:
            fleet.drain(worker)
        for worker in killed:
            fleet.kill(worker, SystemClock().boot_us())
        for worker in told:
            fleet.drained(worker)
        assert await until_accounted(shipped, 120) == []
        return shipped

    shipped = asyncio.run(story())
    for worker in fleet.workers:
        fleet.drain(worker)
    for worker in fleet.workers:
        if worker.exit_signal is None:
            fleet.drained(worker)
    assert Counter(worker.exit_signal for worker in fleet.workers) == {None: WORKERS - 3, 9: 3}
    check(fleet, shipped, held)


async def thawed_too_late(fleet: ForkedFleet, frozen: list[Child]) -> None:
    """They stand in the middle of a step until others have taken over all that they drove, and then go on with it."""
    for worker in frozen:
        fleet.freeze(worker, SystemClock().boot_us())
    theirs = {run.run_id: run.fence for run in driven_by(frozen)}
    assert theirs
    await eventually(lambda: all(fence > theirs[run_id] for run_id, fence in fences(theirs)))
    assert all(worker.process_state() == "T" for worker in frozen)
    for worker in frozen:
        worker.thaw()


def check(fleet: ForkedFleet, shipped: list[Shipped], held: Held) -> None:
    """Everything is accounted for, and after the named person's word there is one record for each operation."""
    ended, wrong = weighed(shipped, held)
    assert wrong == []
    assert set(ended) <= {"completed", "parked outcome_unknown"}, ended
    with app.open().read() as reader:
        taken_over = {each.number for each in shipped if check_claims(reader, each.run_id)}
    # A worker that was too slow to renew a lease of seconds is overtaken like a frozen one. Nobody else's run is executed twice at once.
    twice = {one.name for one, _ in at_once(fleet.witness, fleet.stopped)}
    assert twice <= taken_over, "two workers executed one run at once"
    asyncio.run(resolved(shipped, held))
    records = Counter(str(record["payload_digest"]) for sandbox in held.values() for record in sandbox.records())
    assert records == {each.digest: 1 for each in shipped}, "exactly one record for each operation"
    report = app.verify()
    assert report["sound"], (report["broken"], report["differences"])


def driven_by(frozen: list[Child]) -> list[RunRecord]:
    with app.open().read() as reader:
        names = [worker.said[0]["worker"] for worker in frozen]
        return [
            run for name in names for run in reader.find(RunRecord, "worker_id", name) if run.state is RunState.RUNNING
        ]


def fences(run_ids: Iterable[str]) -> list[tuple[str, int]]:
    with app.open().read() as reader:
        runs = [reader.get(RunRecord, run_id) for run_id in run_ids]
    return [(run.run_id, run.fence) for run in runs if run is not None]


def check_claims(reader: Reader, run_id: str) -> bool:
    """Each claim has a higher fence than the one before, and from then on nobody else moves the run.

    Gives whether it was taken from a worker that was missed.
    """
    entries = reader.entries(run_id)
    claims = [(entry.at, json.loads(entry.body)["data"]) for entry in entries if entry.kind is EntryKind.STARTED]
    assert claims
    for (_, before), (at, after) in pairwise(claims):
        assert after["fence"] > before["fence"], claims
        assert after["from"] != "running" or after["missed_at"] <= at, claims
    steps = Counter(entry.position for entry in entries if entry.kind is EntryKind.STEP)
    assert set(steps.values()) == {1} or not steps, "one result at each position"
    for attempt in reader.find(AttemptRecord, "run_id", run_id):
        newest = max(claim["fence"] for at, claim in claims if at <= attempt.started_at)
        assert attempt.fence == newest, "nothing is sent under the fence of before"
    return any(claim["from"] == "running" for _, claim in claims)


async def resolved(shipped: list[Shipped], held: Held) -> None:
    """The named person looks at the receiver and says what is there; a worker then brings the run to its end."""
    made = {str(r["payload_digest"]): str(r["id"]) for sandbox in held.values() for r in sandbox.records()}
    with app.open().read() as reader:
        found = [reader.find(OperationRecord, "run_id", each.run_id)[0] for each in shipped]
    async with app.worker():
        for operation in found:
            if operation.status is not OperationStatus.UNKNOWN:
                continue
            reference = made.get(operation.payload_digest)
            await app.operations.resolve(
                operation.operation_id, as_="succeeded" if reference else "send-again", by="oscar", secret=SECRET,
                reason="looked at the receiver", evidence=reference or "no record", reference=reference,
                expect_version=operation.version, new_key=reference is None,
            )  # fmt: skip
        await eventually(lambda: all(run_is_completed(each) for each in shipped))


def run_is_completed(shipped: Shipped) -> bool:
    with app.open().read() as reader:
        run = reader.get(RunRecord, shipped.run_id)
    return run is not None and run.state is RunState.COMPLETED
