"""The ledger's hand in a process that works for Temporal: it claims runs for calls, relays answers, and notices the dead."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from counterfoil.engine.cancelling import cancelling
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.finish import Overdue, Park, Resume
from counterfoil.engine.leases import ClaimForCall, HandOver, HolderGone, TakeRelay
from counterfoil.engine.locks import holder_is_gone
from counterfoil.engine.opened import Opened
from counterfoil.engine.problem_log import log
from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.engine.worker import SUSPECT, Worker
from counterfoil.integrations.temporal.carrying import KINDS
from counterfoil.integrations.temporal.identity import in_ledger
from counterfoil.integrations.temporal.messages import Call, End, Said
from counterfoil.integrations.temporal.session import CallRunner, EndRunner, Work, on_record, refusal, standing
from counterfoil.model.codec import parsed
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.origin import Origin
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.store.port import StorageError

WAKE = "counterfoil_wake"
AGAIN_US = 10_000_000  # a run that did not move after it was told is told again
FRESH_US = 1_000_000  # between two calls a run is pending for an instant: nobody needs to be told
RELAY_US = 200_000
LOOK_US = 50_000
AT_ONCE = 500
BESIDE = 20  # told at the same time


class Hand(Worker):
    """A worker of the ledger that executes no function: it drives one call of a run at a time, when an activity asks for it."""

    def __init__(self, opened: Opened, client: Client) -> None:
        super().__init__(opened)
        self.client = client
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._sessions: set[asyncio.Task[Said]] = set()
        self._relayed_at = 0
        self._ours = [f"{in_ledger(each).name}/{each.version}" for each in opened.registry.workflows.values()]
        self.ready = asyncio.Event()

    def versions(self) -> dict[str, list[int]]:
        """None: what it drives is asked for by Temporal."""
        return {}

    @property
    def is_quiet(self) -> bool:
        """A person asked this worker to take up nothing more."""
        return self._quiet

    async def _work(self, until_idle: bool) -> None:
        self.ready.set()  # registered, and its lock is held: it may be asked
        await super()._work(until_idle)

    async def _take_up_parked(self, *reasons: ParkReason) -> None:
        """Nothing: a call that comes takes its run up."""
        del reasons

    # ------------------------------------------------------------------ calls

    async def carry_out(self, call: Call, asker: str) -> Said:
        """One call, to its end or to what it waits for; `asker` is the run id of the execution that asks.

        Raises what the database does to us: then it is tried again.
        """

        async def work(run: EmbeddedRun) -> Any:
            return await KINDS[call.kind](self.opened.registry, run, call.arguments)

        return await self._session(call, lambda: self._call(call, asker, work))

    async def end(self, end: End, asker: str) -> Said:
        """The end of a run, or what it waits for."""
        return await self._session(end, lambda: self._finish(end, asker))

    async def _session(self, asked: Call | End, body: Callable[[], Awaitable[Said]]) -> Said:
        """One at a time for a run in this process. It goes on when its activity is given up: what has begun ends by itself."""

        async def alone() -> Said:
            lock = self._locks.setdefault(
                asked.run_id, asyncio.Lock()
            )  # it lasts as long as somebody holds it or waits for it
            async with lock:
                return await body() if self._is_the_same(asked) else Said("again")

        part = asyncio.create_task(alone())
        self._sessions.add(part)
        part.add_done_callback(self._sessions.discard)
        return await asyncio.shield(part)

    def _is_the_same(self, asked: Call | End) -> bool:
        """Whether the ledger is the one that the asking execution began with. After a restore it knows less than that one."""
        with self.opened.read() as reader:
            run, installation = reader.get(RunRecord, asked.run_id), reader.installation
        assert installation is not None, "an opened database has an installation"
        return run is not None and asked.incarnation in (0, installation.incarnation)

    async def _call(self, call: Call, asker: str, work: Work) -> Said:
        claimed = await self._claimed(call.run_id, call.generation, asker)
        if claimed.state.ended:
            return await self._from_record(claimed, call, work)
        if claimed.state is not RunState.RUNNING or claimed.worker_id != self.worker_id:
            return Said("waits", wait=standing(claimed))
        if claimed.cancel_asked:
            await self.opened.write(HandOver(claimed.run_id, claimed.fence, self.opened.deadlines))
            return Said("cancelled")
        runner = CallRunner(self.opened, claimed, self.worker_id, call, work)
        await self._driven(runner)
        if runner.outcome is not None:
            return runner.outcome
        now = self._row(call.run_id)
        if now.cancel_asked:
            return Said("cancelled")
        if now.state is RunState.WAITING and runner.waits is not None:
            return Said("waits", wait=runner.waits)
        return Said("waits", wait=standing(now))

    async def _from_record(self, run: RunRecord, call: Call, work: Work) -> Said:
        """A run that has ended, asked again by a reset: it says what it said, and does nothing more."""
        if run.state is RunState.CANCELLED:
            return Said("cancelled")
        try:
            said = await on_record(self.opened, run, self.worker_id, call, work)
        except Diverged as difference:
            problem = f"{difference}; the run has ended, and its record stays as it is"
            return refusal(Refused("temporal_reset", run_id=run.run_id, problem=problem))
        if said is not None:
            return said
        problem = f"{call.prefix}{call.number} is new, and the run has ended {run.state.value}"
        return refusal(Refused("temporal_reset", run_id=run.run_id, problem=problem))

    async def _finish(self, end: End, asker: str) -> Said:
        if end.cancelled:
            with self.opened.read() as reader:
                verb = cancelling(reader, end.run_id, None, "cancelled in Temporal")
            try:
                await self.opened.write(verb)
            except Refused as refused:
                if refused.code != "run_ended":
                    raise
        elif self._taken_up(end):
            return Said("again")
        claimed = await self._claimed(end.run_id, end.generation, asker)
        if claimed.state is RunState.RUNNING and claimed.worker_id == self.worker_id:
            await self._driven(EndRunner(self.opened, claimed, self.worker_id, end, asker))
            claimed = self._row(end.run_id)
        if claimed.state.ended:
            facts = {"result": parsed(claimed.result), "failure": parsed(claimed.failure)}
            return Said("ended", {"state": claimed.state.value} | facts)
        return Said("waits", sequence=claimed.sequence, wait=standing(claimed))

    async def _driven(self, runner: CallRunner | EndRunner) -> None:
        run_id = runner.run.run_id
        self._runners[run_id] = runner
        try:
            await runner.drive()
        except Suspended:
            pass  # somebody else drives it by now
        except StorageError:
            # Never an outcome, and no crash of the run: it is given back now, or with the next heartbeat that is stored.
            self._let_down.append(runner)
            with suppress(CounterfoilError):
                await self.opened.write(HandOver(run_id, runner.run.fence, self.opened.deadlines))
            raise
        except Exception:
            # A defect of ours. Temporal asks again, and need not wait for our lease to end.
            with suppress(CounterfoilError):
                await self.opened.write(HolderGone(run_id, self.worker_id, runner.run.fence))
            raise
        finally:
            self._runners.pop(run_id, None)

    async def _claimed(self, run_id: str, generation: int, asker: str) -> RunRecord:
        """The run: ours, or as it stands where it is parked or has ended. Waits while another process drives it."""
        never = asyncio.Event()
        while True:
            run = self._row(run_id)
            if run.state is RunState.FAILED and await self._is_begun_anew(run, asker):
                run = await self.opened.write(
                    Resume(run_id, None, True, {}, self.opened.deadlines, "its workflow was begun anew in Temporal")
                )
            if run.state.ended or (run.state is RunState.PARKED and run.reason != ParkReason.NO_WORKER):
                return run
            await self._end_lease_of_the_dead(run)
            alone = run.crashes >= SUSPECT and not self._runners
            lost = run.worker_id if run.state is RunState.RUNNING else None
            verb = ClaimForCall(
                run_id, self.worker_id, self.opened.deadlines, alone=alone, holder=lost, generation=generation
            )
            claimed: RunRecord | None = await self.opened.write(verb)
            if claimed is not None:
                return claimed
            await self.opened.clock.wait(never, self.opened.clock.now_us() + LOOK_US)

    async def _is_begun_anew(self, run: RunRecord, asker: str) -> bool:
        """A workflow retry or a reset takes a failed run up, as `runs retry` does. An activity that comes late from the execution
        that failed, or from one that a reset ended, must not: nobody would bring the run to an end again."""
        origin = Origin.of(run.workflow, run.request_id)
        if origin is None or parsed(run.failure or "{}").get("execution") == asker:
            return False
        try:
            described = await self.client.get_workflow_handle(origin.workflow_id, run_id=asker).describe()
        except RPCError as problem:
            if problem.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return described.status is WorkflowExecutionStatus.RUNNING

    async def _end_lease_of_the_dead(self, run: RunRecord) -> None:
        if run.state is not RunState.RUNNING or run.worker_id is None or run.worker_id == self.worker_id:
            return
        with self.opened.read() as reader:
            holder = reader.get(WorkerRecord, run.worker_id)
        if holder is not None and holder_is_gone(self.opened.locks, holder):
            await self.opened.write(HolderGone(run.run_id, holder.worker_id, run.fence))

    def _taken_up(self, end: End) -> bool:
        """Whether a person had the run taken up again since it was parked with its end.

        The answer that told of the park may be lost. Then a retry since the execution began says so: only an end is retried.
        """
        after = end.begun_at if end.parked_at is None else end.parked_at
        if after is None:
            return False
        with self.opened.read() as reader:
            resumed = [e for e in reader.entries(end.run_id, after=after) if e.kind is EntryKind.RESUMED]
        return any(end.parked_at is not None or json.loads(entry.body)["data"]["retry"] for entry in resumed)

    def _row(self, run_id: str) -> RunRecord:
        with self.opened.read() as reader:
            run = reader.get(RunRecord, run_id)
        if run is None:
            raise CounterfoilError("not_found", what="run", id=run_id)
        return run

    # ------------------------------------------------------------------ what Temporal is told

    async def _claim(self, now: int) -> int:
        """Nothing is claimed by itself. Runs that somebody moved are told to Temporal, each by one process."""
        if now - self._relayed_at < RELAY_US:
            return 0
        self._relayed_at = now
        with self.opened.read() as reader:
            now = max(now, reader.installation.clock_us if reader.installation else 0)
            # Those that this process left alone stay due: they must not keep it from those that come after them.
            found = reader.due.of(self._ours, now, AT_ONCE + len(self._left))
            due = [reader.get(RunRecord, run_id) for run_id in found if run_id not in self._left]
        runs = [run for run in due if run is not None]
        for n in range(0, len(runs), BESIDE):
            await asyncio.gather(*(self._look_at(run, now) for run in runs[n : n + BESIDE]))
        return 0

    async def _look_at(self, run: RunRecord, now: int) -> None:
        origin = Origin.of(run.workflow, run.request_id)
        if run.state is RunState.PARKED or (run.deadline_at is not None and run.deadline_at <= now):
            with suppress(Refused):  # it has ended meanwhile
                await self.opened.write(Overdue(run.run_id, parsed(run.budget)["owner"]))
            return
        if run.state is RunState.PENDING and (run.due_at or 0) > now - FRESH_US:
            return
        if origin is None or origin.namespace != self.client.namespace:
            self._left.add(run.run_id)  # until the next heartbeat
            return
        if run.state not in (RunState.PENDING, RunState.WAITING) or run.due_at is None:
            self._left.add(run.run_id)  # until the next heartbeat
            return
        if await self.opened.write(TakeRelay(run.run_id, run.due_at, AGAIN_US)):
            await self._tell(run, origin)

    async def _tell(self, run: RunRecord, origin: Origin) -> None:
        """By a signal; the row stays the authority. What Temporal does not hear now is told again."""
        # Of an id that was used again only the run's own chain of executions may be cancelled; a signal changes nothing.
        first = origin.first_run_id or None
        handle = self.client.get_workflow_handle(origin.workflow_id, first_execution_run_id=first)
        try:
            await (handle.cancel() if run.cancel_asked else handle.signal(WAKE))
        except RPCError as problem:
            if problem.status is RPCStatusCode.NOT_FOUND:
                await self._not_there(run, origin)
            else:
                log.error("run %s: Temporal could not be told: %s", run.run_id, problem)

    async def _not_there(self, run: RunRecord, origin: Origin) -> None:
        """Temporal does not execute it: it was terminated, or nobody came to start it."""
        if run.cancel_asked:  # then its end needs nobody but us
            self._ending(run)
            return
        if run.started_at is None:
            return  # it is being started just now, or its deadline passes
        detail = f"Temporal has no open workflow {origin.workflow_id}."
        owner, reason = parsed(run.budget)["owner"], ParkReason.NO_PROGRESS
        with suppress(Refused):  # it has ended meanwhile
            await self.opened.write(Park(run.run_id, None, None, reason, detail, owner, None, None, None))

    def _ending(self, run: RunRecord) -> None:
        part = asyncio.create_task(self.end(End(run.run_id, run.generation, cancelled=True), ""))
        self._sessions.add(part)

        def over(ended: asyncio.Task[Said]) -> None:
            self._sessions.discard(ended)
            problem = None if ended.cancelled() else ended.exception()
            if problem is not None:  # it is due again
                log.error("run %s, which is cancelled, could not be ended: %s", run.run_id, problem)

        part.add_done_callback(over)

    async def _drain(self) -> None:
        for runner in list(self._runners.values()):
            runner.drain()
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=20)
        await super()._drain()
