"""A ledger, a receiver and a real server of Temporal for one test; workers in this process or in one of their own."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.worker import Worker

from counterfoil.app.opening import Founding
from counterfoil.app.verification import verify
from counterfoil.engine.clock import Chance, SystemClock
from counterfoil.engine.definitions import Workflow
from counterfoil.integrations.temporal import CounterfoilPlugin, Patience, Started, submit
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges import temporal_app
from tests.edges.temporal_app import app, changed
from tests.servers.temporal import shared

LIFE = "tests.edges.temporal_life"
ROOT = Path(__file__).parents[2]
QUICK = Patience(heartbeat=timedelta(seconds=1.5))
LONGEST_S = 60.0


class Bench:
    """One test's world. `name` is unique on the server: it is the queue, and the beginning of customers' names."""

    def __init__(self, folder: Path, crm: SandboxProcess) -> None:
        self.folder = folder
        self.crm = crm
        self.name = f"t{Chance().hex(48)}"
        self.client: Client | None = None

    async def connect(self, patience: Patience = QUICK, **more: Any) -> Client:
        plugin = CounterfoilPlugin(app, patience=patience, **more)
        self.client = await Client.connect(shared().address, identity="tests", plugins=[plugin])
        return self.client

    @asynccontextmanager
    async def worker(self, patience: Patience = QUICK, **more: Any) -> AsyncIterator[Client]:
        client = await self.connect(patience)
        async with Worker(client, task_queue=self.name, **more):
            yield client

    @contextmanager
    def life(
        self, *, crash_at: str = "", heartbeat: float = 1.5, longest: float = 3600
    ) -> Iterator[subprocess.Popen[str]]:
        """A worker in a process of its own. It polls when this gives it."""
        environment = {
            **os.environ, "COUNTERFOIL_CRASH_AT": crash_at, "COUNTERFOIL_TEMPORAL_QUEUE": self.name,
            "COUNTERFOIL_TEMPORAL_ADDRESS": shared().address, "COUNTERFOIL_DB": str(app.db), "PYTHONPATH": os.pathsep.join(sys.path),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", LIFE, str(heartbeat), str(longest)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close() if process.stdout else None

    async def submit(self, workflow: Workflow[Any, Any], customer: str = "", **more: Any) -> Started:
        assert self.client is not None
        case = temporal_app.Case(customer=customer or self.name)
        return await submit(app, self.client, workflow, case, request_id=self.name, queue=self.name, **more)

    async def until(self, started: Started | str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """RUN, once it is so."""
        run_id = started if isinstance(started, str) else started.run_id
        never, clock = asyncio.Event(), SystemClock()
        end = clock.now_us() + int(LONGEST_S * 1_000_000)
        while not reached(run := await asyncio.to_thread(app.runs.show, run_id)):
            assert clock.now_us() < end, f"{run['state']} {run['reason']}: {run['sentence']}"
            await clock.wait(never, clock.now_us() + 20_000)
        return run

    async def rests(self, started: Started) -> None:
        """Once its workflow waits by a timer, so that no worker is at it: one that ends now leaves nothing behind."""
        assert self.client is not None
        handle = self.client.get_workflow_handle(started.workflow_id)
        never, clock = asyncio.Event(), SystemClock()
        while (await handle.fetch_history()).events[-1].event_type != EventType.EVENT_TYPE_TIMER_STARTED:
            await clock.wait(never, clock.now_us() + 20_000)

    async def until_listed(self, count: int) -> list[dict[str, Any]]:
        """The runs, newest first, once there are so many."""
        never, clock = asyncio.Event(), SystemClock()
        while len(runs := app.runs.list()["items"]) < count:
            await clock.wait(never, clock.now_us() + 20_000)
        return runs

    async def result(self, started: Started) -> Any:
        assert self.client is not None
        return await asyncio.wait_for(self.client.get_workflow_handle(started.workflow_id).result(), LONGEST_S)

    async def approve(self, run: dict[str, Any]) -> None:
        (review,) = run["records"]["approvals"]
        await app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret="secret-of-ana")

    async def reset(self, started: Started) -> None:
        """To its first step, as an operator does by `temporal workflow reset`."""
        assert self.client is not None
        handle = self.client.get_workflow_handle(started.workflow_id)
        finished = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        first = next(e.event_id for e in (await handle.fetch_history()).events if e.event_type == finished)
        described = await handle.describe()
        await self.client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self.client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=started.workflow_id, run_id=described.run_id),
                workflow_task_finish_event_id=first,
                reason="a test",
                request_id=Chance().hex(64),
            )
        )

    @property
    def records(self) -> int:
        """What the receiver holds, by its own account."""
        return len(self.crm.records())

    @property
    def requests(self) -> int:
        return len(self.crm.requests())


async def killed(process: subprocess.Popen[str]) -> None:
    """It killed itself where it was told to."""
    assert await asyncio.to_thread(process.wait, LONGEST_S) == -signal.SIGKILL


@contextmanager
def benched(folder: Path, patch: pytest.MonkeyPatch, db: str | None = None) -> Iterator[Bench]:
    """A fresh ledger with a manager, in a file unless `db` names a place; at the end what it says is what its journal says."""
    patch.setenv("COUNTERFOIL_STATE", str(folder / "state"))
    changed.clear()
    with SandboxProcess("key", records=folder / "records.jsonl") as crm:
        patch.setenv("CRM_URL", crm.url)
        app.db = db or str(folder / "counterfoil.db")
        app.open(Founding())
        asyncio.run(app.people.add("ana", roles=["manager", "desk"], secret="secret-of-ana"))
        asyncio.run(app.people.add("bob", roles=["manager"], secret="secret-of-bob"))
        asyncio.run(app.people.add("oscar", roles=["desk"], secret="secret-of-oscar"))
        try:
            yield Bench(folder, crm)
            found = verify(app.open)
            assert (found["broken"], found["differences"]) == ([], [])
        finally:
            app.close()
