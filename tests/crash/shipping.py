"""What a fleet ships: submits it, waits for its end, and weighs what the receivers hold against what the ledger says."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.clock import SystemClock
from counterfoil.model.codec import canonical, digest_of
from counterfoil.model.installation import IncidentRecord, WorkerRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.model.slots import SlotRecord
from counterfoil.store.port import StorageError
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.fleet import SECRET
from tests.crash.fleet_application import KINDS, SHIPS, Parcel, app

PEOPLE = tuple(NewPerson(name, ("manager", "lead"), hashed(SECRET, "c0")) for name in ("ana", "oscar"))


@dataclass(frozen=True, slots=True)
class Shipped:
    """One run, its business key, and the kind of its receiver."""

    run_id: str
    kind: str
    digest: str


@contextmanager
def receivers() -> Iterator[dict[str, SandboxProcess]]:
    """A sandbox of each kind; their addresses are in the environment."""
    with ExitStack() as stack:
        made = {kind: stack.enter_context(SandboxProcess(kind)) for kind in KINDS}
        os.environ.update({f"FLEET_{kind.upper()}_URL": sandbox.url for kind, sandbox in made.items()})
        yield made


@contextmanager
def ledger(url: str, state: str) -> Iterator[None]:
    """This process's own opening of the database, founded by it."""
    os.environ["COUNTERFOIL_STATE"] = state
    app.db = url
    app.open(Founding(people=PEOPLE))
    try:
        yield
    finally:
        app.close()


async def submit(number: int, kind: Any) -> Shipped:
    """Asked for twice, as by two callers."""
    parcel = Parcel(number=f"{kind}-{number}", amount=1 + number % 3)
    for _ in range(2):
        submitted = await app.submit(SHIPS[kind], parcel, request_id=parcel.number)
    digest = digest_of(canonical(parcel.model_dump(mode="json"), where="a parcel"))
    return Shipped(submitted.run_id, kind, digest)


def accounted(run: RunRecord) -> bool:
    """It has ended, or a named person moves it."""
    return run.state.ended or (run.state is RunState.PARKED and bool(run.owner))


async def until_accounted(shipped: list[Shipped], within_s: float) -> list[RunRecord]:
    """The runs that are neither ended nor somebody's; none, if all goes well."""
    clock = SystemClock()
    end = clock.now_us() + int(within_s * 1_000_000)
    left: list[RunRecord] = []
    while True:
        try:
            with app.open().read() as reader:
                runs = [reader.get(RunRecord, each.run_id) for each in shipped]
            left = [run for run in runs if run is not None and not accounted(run)]
        except StorageError:
            pass  # its server is away: looked at again
        if not left or clock.now_us() > end:
            return left
        await clock.wait(asyncio.Event(), clock.now_us() + 100_000)


def described(run: RunRecord) -> dict[str, Any]:
    """What there is to know of a run that nobody answers for."""
    with app.open().read() as reader:
        now = reader.installation.clock_us if reader.installation else 0
        entries = reader.entries(run.run_id)[-6:]
        worker = None if run.worker_id is None else reader.get(WorkerRecord, run.worker_id)
        attempts = reader.find(AttemptRecord, "run_id", run.run_id)
    return {
        "run": run.number, "state": run.state.value, "sentence": run.sentence, "held_for": run.held_for,
        "fence": run.fence, "crashes": run.crashes,
        "due_in_us": (run.due_at or 0) - now, "lease_in_us": (run.lease_until or 0) - now,
        "worker": None if worker is None else {"pid": worker.pid, "seen_us": worker.seen_at - now, "stopped": worker.stopped_at},
        "entries": [f"{entry.kind.value} {entry.at - now}" for entry in entries],
        "attempts": [f"{a.n} {a.reached} ended={a.ended_at and a.ended_at - now} deadline={a.deadline_at - now}" for a in attempts],
    }  # fmt: skip


def weighed(shipped: list[Shipped], held: dict[str, SandboxProcess]) -> tuple[Counter[str], list[str]]:
    """Runs by how they ended, and everything that is wrong: a second record, a success without one, a hidden doubt."""
    records = Counter(str(record["payload_digest"]) for sandbox in held.values() for record in sandbox.records())
    states: Counter[str] = Counter()
    wrong: list[str] = []
    with app.open().read() as reader:
        incidents = {incident.run_id for incident in reader.rows(IncidentRecord)}
        for each in shipped:
            run = reader.get(RunRecord, each.run_id)
            assert run is not None
            (operation,) = reader.find(OperationRecord, "run_id", each.run_id) or [None]
            states[run.state.value if run.state is not RunState.PARKED else f"parked {run.reason}"] += 1
            count = records[each.digest]
            doubtful = run.run_id in incidents or (
                operation is not None and operation.status is OperationStatus.UNKNOWN
            )
            if run.state is RunState.COMPLETED and count != 1:
                wrong.append(f"run-{run.number} ({each.kind}) completed, and the receiver holds {count}")
            if count > 1 and not doubtful:
                wrong.append(f"run-{run.number} ({each.kind}): {count} records, and no doubt is shown")
            if run.state is RunState.FAILED:
                wrong.append(f"run-{run.number} failed: {json.loads(run.failure or '{}')}")
        running = {run.run_id for each in shipped if (run := reader.get(RunRecord, each.run_id)) and not accounted(run)}
        wrong += [
            f"{slot.pool}: {slot.run_id} left a slot"
            for slot in reader.rows(SlotRecord)
            if slot.until is None and slot.run_id not in running
        ]
    return states, wrong
