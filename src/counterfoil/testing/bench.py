"""A bench: one application on a SQLite file, sandboxes for its receivers, and workers as children that can be killed."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel

from counterfoil.app.application import App
from counterfoil.app.opening import Founding
from counterfoil.app.registration import named_in
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.definitions import ReceiverDefinition, Workflow
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.testing.bench_child import redirect
from counterfoil.testing.case_ledger import MakeLedger, files
from counterfoil.testing.children import Child, ChildFailed, Children
from counterfoil.testing.clock import SharedClock
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess

SECRET = "bench"
PEOPLE = ("ana", "oscar")
WORK = "counterfoil.testing.bench_child:work"


@dataclass(frozen=True, slots=True)
class BenchSandbox:
    """A sandbox that stands in for a receiver."""

    process: SandboxProcess

    @property
    def records(self) -> list[dict[str, object]]:
        """The receiver's own records: id, reference, key, payload_digest, at."""
        return self.process.records()

    def fault(self, name: str, *, count: int = 1) -> None:
        """Arm a fault for the next `count` writes: drop-reply, error-after-accept, refuse, slow, hang, late, garbage."""
        self.process.fault(name, count=count)


@dataclass(slots=True)
class BenchRun:
    """A submitted run. `crashes` are the wait statuses of the workers that died while they drove it."""

    run_id: str
    crash_at: str | None
    crashes: list[int] = field(default_factory=lambda: [])


class Bench:
    """`async with Bench(app, folder) as bench:`. The application must be found by name in an importable module.

    ana and oscar hold every role that it names. `ledgers`: where its ledger is; in the folder, if nothing is said. Time is skipped
    where nothing but time is missing. Receivers that have no sandbox keep their url.
    """

    def __init__(
        self, app: App, folder: Path, *, children: Children | None = None, ledgers: MakeLedger = files
    ) -> None:
        self.app = app
        self._ledgers = ledgers
        self._folder = folder
        self._given = children
        self._children: Children | None = children
        self._sandboxes: dict[str, BenchSandbox] = {}
        self._kept: dict[str, ReceiverDefinition] = dict(app.registry.receivers)
        self._before = (app.db, app.clock)
        self._environ: dict[str, str | None] = {}
        self._started = 0

    async def __aenter__(self) -> Self:
        for folder in (self._folder / "ledger", self._folder / "state"):
            folder.mkdir(parents=True, exist_ok=True)
        self.ledger = self._ledgers(self._folder / "ledger")
        own = {"COUNTERFOIL_STATE": str(self._folder / "state"), **self.ledger.environ}
        self._environ = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        self.app.close()
        self.app.db = self.ledger.db
        self.clock = SharedClock(self._folder / "clock")
        self.app.clock = self.clock
        secret = hashed(SECRET, "be7c")
        people = tuple(NewPerson(name, tuple(named_in(self.app.registry)), secret) for name in PEOPLE)
        self.app.open(Founding(people=people))
        if self._children is None:
            self._children = await asyncio.to_thread(Children, target_of(self.app))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.app.close()
        self.app.db, self.app.clock = self._before
        self.app.registry.receivers.update(self._kept)
        for name, value in self._environ.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if self._given is None and self._children is not None:
            await asyncio.to_thread(self._children.close)
        for sandbox in self._sandboxes.values():
            sandbox.process.close()
        self.clock.close()

    async def sandbox(
        self, receiver: str, *, kind: str | SandboxContract = "key", fault: str | None = None
    ) -> BenchSandbox:
        """A sandbox in the place of a receiver of the application. Raises Refused(unknown_receiver)."""
        if receiver not in self.app.registry.receivers:
            raise Refused("unknown_receiver", name="the bench", receiver=receiver)
        process = await asyncio.to_thread(SandboxProcess, kind, fault=fault)
        self._sandboxes[receiver] = BenchSandbox(process)
        redirect(self.app, {receiver: process.url})
        return self._sandboxes[receiver]

    async def submit(
        self, workflow: Workflow[Any, Any], input: Any, *, request_id: str, crash_at: str | None = None
    ) -> BenchRun:
        """Submit a run. The first worker that drives it is killed at `crash_at`: NAME, before:NAME, NAME#2."""
        submitted = await self.app.submit(workflow, input, request_id=request_id)
        return BenchRun(submitted.run_id, crash_at)

    async def drive(self, run: BenchRun) -> RunRecord:
        """Start workers until the run has ended or waits for a person; the run as it is then.

        A worker that is killed at its crash is followed by a new one. ChildFailed for one that fails otherwise.
        """
        while True:
            child = self.start_worker(run.run_id, crash_at=run.crash_at)
            await asyncio.to_thread(child.wait)
            if child.exit_code == 0:
                return self.stored(run)
            if run.crash_at is None or child.exit_signal is None:
                raise ChildFailed(f"A worker ended with status {child.status}.\n{child.wrote()[-6000:]}")
            assert child.status is not None
            run.crashes.append(child.status)
            run.crash_at = None

    async def approve(self, run: BenchRun, *, by: str, comment: str = "") -> None:
        """Drive the run until it waits for a review, and approve what is asked. Raises Refused as `app.reviews` does."""
        review = await self._open_review(run)
        await self.app.reviews.approve(review.review_id, digest=review.digest, by=by, secret=SECRET, comment=comment)

    async def reject(self, run: BenchRun, *, by: str, comment: str = "", ask_revision: bool = False) -> None:
        """Drive the run until it waits for a review, and reject it."""
        review = await self._open_review(run)
        await self.app.reviews.reject(
            review.review_id, digest=review.digest, by=by, secret=SECRET, comment=comment, ask_revision=ask_revision
        )

    async def signal(self, run: BenchRun, name: str, payload: BaseModel, *, signal_id: str) -> None:
        """Send a signal from outside."""
        await self.app.signal(run.run_id, name, payload, signal_id=signal_id)

    def advance(self, duration: timedelta) -> None:
        """Let time pass, in all processes."""
        self.clock.advance(duration)

    def stored(self, run: BenchRun) -> RunRecord:
        """The run as it is stored now."""
        with self.app.open().read() as reader:
            found = reader.get(RunRecord, run.run_id)
        assert found is not None, "a submitted run is stored"
        return found

    def start_worker(
        self,
        run_id: str,
        *,
        crash_at: str | None = None,
        environ: Mapping[str, str] | None = None,
        work: str = WORK,
    ) -> Child:
        """A worker as a child, which the caller waits for, kills or freezes. `work`: what it does, MODULE:FUNCTION."""
        assert self._children is not None, "a bench is used inside its block"
        self._started += 1
        arguments = {
            "db": self.app.db, "clock": str(self._folder / "clock"), "run_id": run_id, "crash_at": crash_at,
            "receivers": {name: sandbox.process.url for name, sandbox in self._sandboxes.items()},
            "modules": modules_of(self.app),
        }  # fmt: skip
        log = self._folder / f"worker-{self._started}.log"
        return self._children.start(work, arguments, log=log, environ=dict(os.environ) | dict(environ or {}))

    async def _open_review(self, run: BenchRun) -> ReviewRecord:
        for driven in (False, True):
            if driven:
                await self.drive(run)
            with self.app.open().read() as reader:
                reviews = reader.find(ReviewRecord, "run_id", run.run_id)
            for review in reversed(reviews):
                if review.state is ReviewState.OPEN:
                    return review
        raise ChildFailed(f"The run waits for no review; it is {self.stored(run).state.value}.")


def modules_of(app: App) -> list[str]:
    """The modules in which its workflows and operations are, which may be others than its own."""
    functions = [workflow.function for workflow in app.registry.workflows.values()]
    functions += [operation.function for operation in app.registry.operations.values()]
    return sorted({function.__module__ for function in functions})


def target_of(app: App) -> str:
    """MODULE:NAME under which an application is found. ChildFailed when no loaded module holds it."""
    for name, module in list(sys.modules.items()):
        for attribute, value in list(vars(module).items()) if name != "__main__" else ():
            if value is app:
                return f"{name}:{attribute}"
    raise ChildFailed("The application must be a global name of a module that a child can import.")
