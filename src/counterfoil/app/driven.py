"""Drive a run in the calling process until it has ended, or only a person can move it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from counterfoil.app.submitted import POLL_US, waits_for_person
from counterfoil.engine.leases import StopIsOver
from counterfoil.engine.opened import Opened
from counterfoil.engine.presence import Presence
from counterfoil.engine.reused import LookNow
from counterfoil.engine.worker import Worker
from counterfoil.engine.writer import Touched
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.store.port import Reader

PATIENCE_US = 30_000_000  # for a run that is not driven here: as long as a lease


async def driven(opened: Opened, presence: Presence, run_id: str, workflow: str) -> RunRecord:
    """The run as it ended, or as it waits for a person.

    Another run may carry the same intention (business key): one of this `workflow` has no worker of its own and is driven
    here too. Where a person moves that one first, it is the run that is given; so is one that workers drive, or nobody, and that
    does not end in time.
    """
    until = opened.clock.now_us() + PATIENCE_US
    await _taken_up(opened, run_id)
    async with _Driving(opened, presence).begun(run_id) as driving:
        while True:
            driving.changed.clear()
            with opened.read() as reader:
                run = reader.get(RunRecord, run_id)
                assert run is not None, "a submitted run is stored"
                now = opened.clock.now_us()
                if run.state.ended or waits_for_person(reader, run, now):
                    return run
                first = _carrier(reader, run)
                if first is not None and (waits_for_person(reader, first, now) or _left(first, workflow, now, until)):
                    return first
            if first is not None and first.state.ended:
                await opened.write(LookNow(run_id, first.run_id))
            elif first is not None and first.workflow == workflow:
                driving.add(first.run_id)
            driving.check()
            await opened.clock.wait(driving.changed, opened.clock.now_us() + POLL_US)


async def _taken_up(opened: Opened, run_id: str) -> None:
    """What it was parked for, that nobody drove it or with other code, is over: its caller drives it."""
    with opened.read() as reader:
        run = reader.get(RunRecord, run_id)
    if (
        run is not None
        and run.state is RunState.PARKED
        and run.reason in (ParkReason.NO_WORKER, ParkReason.CODE_CHANGED)
    ):
        await opened.write(StopIsOver(run_id))


def _left(first: RunRecord, workflow: str, now: int, until: int) -> bool:
    return first.workflow != workflow and not first.state.ended and now >= until


def _carrier(reader: Reader, run: RunRecord) -> RunRecord | None:
    """The run whose receipt this one waits for."""
    for operation in reader.find(OperationRecord, "run_id", run.run_id):
        if operation.reused_from is not None and not operation.status.closed:
            first = reader.get(OperationRecord, operation.reused_from)
            return None if first is None else reader.get(RunRecord, first.run_id)
    return None


class _Driving:
    """A worker of this process for each run that it drives. `changed` is set by commits that touch one."""

    def __init__(self, opened: Opened, presence: Presence) -> None:
        self.changed = asyncio.Event()
        self._opened = opened
        self._presence = presence
        self._workers: dict[str, tuple[Worker, asyncio.Task[None]]] = {}

    @asynccontextmanager
    async def begun(self, run_id: str) -> "AsyncGenerator[_Driving]":
        """Drives while the block is open."""
        loop = asyncio.get_running_loop()

        def committed(run_ids: Touched) -> None:
            if not self._workers.keys().isdisjoint(run_ids):
                loop.call_soon_threadsafe(self.changed.set)

        self._opened.listeners.add(committed)
        self.add(run_id)
        try:
            yield self
        finally:
            self._opened.listeners.discard(committed)
            for worker, _ in self._workers.values():
                worker.stop()
            await asyncio.gather(*(part for _, part in self._workers.values()))

    def add(self, run_id: str) -> None:
        """Unless somebody else drives it: a claim is compare-and-set."""
        if run_id not in self._workers:
            worker = Worker(self._opened, only=frozenset({run_id}), presence=self._presence)
            self._workers[run_id] = (worker, asyncio.create_task(worker.run()))

    def check(self) -> None:
        """A worker that ended by itself says why."""
        for _, part in self._workers.values():
            if part.done():
                part.result()
