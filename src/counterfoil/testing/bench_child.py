"""What a child of a bench does: it is a worker of an application whose database, clock and receivers a test has chosen."""

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGSTOP, pthread_kill
from threading import get_ident
from typing import Any

from counterfoil.app.application import App
from counterfoil.app.submitted import waits_for_person
from counterfoil.engine.boundaries import crash_point
from counterfoil.engine.worker import Worker
from counterfoil.engine.writer import Touched
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.clock import SharedClock

LOOK_US = 20_000


def work(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive one run until it ends or waits for a person, with the crash that the arguments name."""
    place(app, arguments, say)
    asyncio.run(drive(app, arguments["run_id"]))
    app.close()


def place(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Set an application up: {db, clock, modules, receivers, credentials, crash_at, freeze_at, passed, watch}; only db is needed.

    `credentials` names the receivers that are asked with the application's own. `passed` is a file to which each boundary
    is written as it is met, so that a killed child has told it. `watch`: the boundaries whose passing is said at once.
    """
    for module in arguments.get("modules") or ():
        importlib.import_module(module)
    app.db = arguments["db"]
    if arguments.get("clock"):
        app.clock = SharedClock(Path(arguments["clock"]))
    redirect(app, arguments.get("receivers") or {}, arguments.get("credentials") or ())
    arm(app, arguments, say)


def arm(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """What happens at boundaries from here on: {crash_at, freeze_at, passed, watch}, as `place` has them."""
    app.boundaries.crash = crash_point(arguments.get("crash_at"))
    if arguments.get("passed"):
        app.boundaries.observers.append(_written_to(arguments["passed"]))
    watched = frozenset(arguments.get("watch") or ())

    def told(when: str, names: Sequence[str]) -> None:
        for name in watched.intersection(names) if when == "after" else ():
            say(name)

    if watched:
        app.boundaries.observers.append(told)
    if arguments.get("freeze_at"):
        app.boundaries.observers.append(_frozen_at(arguments["freeze_at"]))


def redirect(app: App, receivers: dict[str, str], credentials: Sequence[str] = ()) -> None:
    """Let receivers be reached at other urls; without their credentials, unless they are named."""
    for name, url in receivers.items():
        known = app.registry.receivers[name]
        app.registry.receivers[name] = replace(
            known, url=url, credential=known.credential if name in credentials else None
        )


async def drive(app: App, run_id: str) -> RunRecord:
    """Work until the run has ended or waits for a person. Where only time is missing, a shared clock skips it."""
    opened = app.open()
    async with working(app) as here:
        while True:
            here.look()
            run = run_of(app, run_id)
            with opened.read() as reader:
                waits = waits_for_person(reader, run, opened.clock.now_us())
            if run.state.ended or waits:
                return run
            skip_time(app, here.worker, run.run_id)
            await here.wait()


@dataclass(slots=True)
class Working:
    """A worker in this process, and whoever looks at what it does: `look`, see, `wait`, and again."""

    worker: Worker
    _part: asyncio.Task[None]
    _changed: asyncio.Event

    def look(self) -> None:
        """What is committed from here on ends the next wait. Raises what ended the worker."""
        self._changed.clear()
        if self._part.done():
            self._part.result()

    async def wait(self) -> None:
        """Until something is committed by this process, or for a short while: others commit, too."""
        clock = self.worker.opened.clock
        await clock.wait(self._changed, clock.now_us() + LOOK_US)


@asynccontextmanager
async def working(app: App) -> AsyncGenerator[Working]:
    """A worker while the block is open. It drains before the block is left."""
    opened, changed, loop = app.open(), asyncio.Event(), asyncio.get_running_loop()

    def committed(touched: Touched) -> None:
        loop.call_soon_threadsafe(changed.set)

    worker = app.new_worker()
    opened.listeners.add(committed)
    part = asyncio.create_task(worker.run())
    try:
        yield Working(worker, part, changed)
    finally:
        worker.stop()
        await asyncio.wait([part])
        opened.listeners.discard(committed)


def skip_time(app: App, worker: Worker, run_id: str) -> None:
    """Skip to when the run, or a child of it, is due, if no worker here drives anything and no person is waited for."""
    clock = app.clock
    if not isinstance(clock, SharedClock) or worker.driving:
        return
    # Looked at again after `driving`: a run that has just been claimed is no longer waiting.
    with app.open().read() as reader:
        runs = [r for r in reader.rows(RunRecord) if r.run_id == run_id or r.parent_run_id == run_id]
        waits = any(waits_for_person(reader, r, clock.now_us()) for r in runs)
    due = [r.due_at for r in runs if r.state is RunState.WAITING and r.due_at is not None]
    due += [r.lease_until for r in runs if r.state is RunState.RUNNING and r.lease_until is not None]
    if due and not waits and not any(r.state is RunState.PENDING for r in runs):
        clock.skip_to(min(due))


def run_of(app: App, run_id: str) -> RunRecord:
    """A run as it is stored."""
    with app.open().read() as reader:
        run = reader.get(RunRecord, run_id)
    assert run is not None, "a submitted run is stored"
    return run


def _frozen_at(text: str) -> Callable[[str, Sequence[str]], None]:
    point = crash_point(text)
    assert point is not None

    def met(when: str, names: Sequence[str]) -> None:
        if when == point.when and point.name in names:
            point.hit -= 1
            if point.hit == 0:
                # To this very thread: sent to the process, it would be stopped a little later than here.
                pthread_kill(get_ident(), SIGSTOP)

    return met


def _written_to(file: str) -> Callable[[str, Sequence[str]], None]:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def met(when: str, names: Sequence[str]) -> None:
        os.write(descriptor, f"{os.getpid()} {when} {' '.join(names)}\n".encode())

    return met
