"""The ledger's hand in a process that works for Temporal: it claims runs for calls, relays answers, and notices the dead."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from counterfoil.engine.cancelling import AskToCancel
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

WAKE = "counterfoil_wake"
AGAIN_US = 10_000_000  # a run that did not move after it was told is told again
FRESH_US = 1_000_000  # between two calls a run is pending for an instant: nobody needs to be told
RELAY_US = 200_000
LOOK_US = 50_000
AT_ONCE = 500


class Hand(Worker):
    """A worker of the ledger that executes no function: it drives one call of a run at a time, when an activity asks for it."""

    def __init__(self, opened: Opened, client: Client) -> None:
        super().__init__(opened)
        self.client = client
        self._locks: dict[str, asyncio.Lock] = {}
        self._sessions: set[asyncio.Task[Said]] = set()
        self._relayed_at = 0
        self._told = [f"{in_ledger(each).name}/{each.version}" for each in opened.registry.workflows.values()]
        self.ready = asyncio.Event()

    def versions(self) -> dict[str, list[int]]:
        """None: what it drives is asked for by Temporal."""
        return {}

    async def _work(self, until_idle: bool) -> None:
        self.ready.set()  # registered, and its lock is held: it may be asked
        await super()._work(until_idle)

    async def _take_up_parked(self, *reasons: ParkReason) -> None:
        """Nothing: a call that comes takes its run up."""
        del reasons

    # ------------------------------------------------------------------ calls

    async def carry_out(self, call: Call) -> Said:
        """One call, to its end or to what it waits for. Raises what the database does to us: then it is tried again."""

        async def work(run: EmbeddedRun) -> Any:
            return await KINDS[call.kind](self.opened.registry, run, call.arguments)

        return await self._session(call.run_id, lambda: self._call(call, work))

    async def end(self, end: End) -> Said:
        """The end of a run, or what it waits for."""
        return await self._session(end.run_id, lambda: self._finish(end))

    async def _session(self, run_id: str, body: Callable[[], Awaitable[Said]]) -> Said:
        """One at a time for a run in this process. It goes on when its activity is given up: what has begun ends by itself."""

        async def alone() -> Said:
            async with self._locks.setdefault(run_id, asyncio.Lock()):
                return await body()

        part = asyncio.create_task(alone())
        self._sessions.add(part)
        part.add_done_callback(self._sessions.discard)
        return await asyncio.shield(part)

    async def _call(self, call: Call, work: Work) -> Said:
        claimed = await self._claimed(call.run_id, call.generation)
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

    async def _finish(self, end: End) -> Said:
        if end.cancelled:
            with suppress(Refused):  # it has ended meanwhile
                await self.opened.write(AskToCancel(end.run_id, None, "cancelled in Temporal"))
        if end.parked_at is not None and self._taken_up(end.run_id, end.parked_at):
            return Said("again")
        claimed = await self._claimed(end.run_id, end.generation)
        if claimed.state is RunState.RUNNING and claimed.worker_id == self.worker_id:
            await self._driven(EndRunner(self.opened, claimed, self.worker_id, end))
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
        except Exception:
            # The database failed it, or a defect of ours did. Temporal asks again, and need not wait for our lease to end.
            with suppress(CounterfoilError):
                await self.opened.write(HolderGone(run_id, self.worker_id, runner.run.fence))
            raise
        finally:
            self._runners.pop(run_id, None)

    async def _claimed(self, run_id: str, generation: int) -> RunRecord:
        """The run: ours, or as it stands where it is parked or has ended. Waits while another process drives it."""
        never = asyncio.Event()
        while True:
            run = self._row(run_id)
            if run.state is RunState.FAILED:  # a workflow retry or a reset takes it up, as `runs retry` does
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

    async def _end_lease_of_the_dead(self, run: RunRecord) -> None:
        if run.state is not RunState.RUNNING or run.worker_id is None or run.worker_id == self.worker_id:
            return
        with self.opened.read() as reader:
            holder = reader.get(WorkerRecord, run.worker_id)
        if holder is not None and holder_is_gone(self.opened.locks, holder):
            await self.opened.write(HolderGone(run.run_id, holder.worker_id, run.fence))

    def _taken_up(self, run_id: str, after: int) -> bool:
        """Whether a person had the run taken up again since it was parked with its end."""
        with self.opened.read() as reader:
            return any(entry.kind is EntryKind.RESUMED for entry in reader.entries(run_id, after=after))

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
            # Those of another namespace stay due until its own processes tell it: they stand in nobody's way.
            ids = reader.due.of(self._told, now, AT_ONCE + len(self._left))
            due = [reader.get(RunRecord, run_id) for run_id in ids if run_id not in self._left]
        for run in due:
            origin = None if run is None else Origin.of(run.workflow, run.request_id)
            if run is not None and origin is not None:
                await self._look_at(run, origin, now)
        return 0

    async def _look_at(self, run: RunRecord, origin: Origin, now: int) -> None:
        if run.state is RunState.PARKED or (run.deadline_at is not None and run.deadline_at <= now):
            await self.opened.write(Overdue(run.run_id, parsed(run.budget)["owner"]))
            return
        fresh = run.state is RunState.PENDING and (run.due_at or 0) > now - FRESH_US
        if run.state not in (RunState.PENDING, RunState.WAITING) or fresh or run.due_at is None:
            return
        if origin.namespace != self.client.namespace:
            self._left.add(run.run_id)
            return
        if await self.opened.write(TakeRelay(run.run_id, run.due_at, AGAIN_US)):
            await self._tell(run, origin.workflow_id)

    async def _tell(self, run: RunRecord, workflow_id: str) -> None:
        """By a signal; the row stays the authority. What Temporal does not hear now is told again."""
        handle = self.client.get_workflow_handle(workflow_id)
        try:
            await (handle.cancel() if run.cancel_asked else handle.signal(WAKE))
        except RPCError as problem:
            if problem.status is not RPCStatusCode.NOT_FOUND:
                log.error("run %s: Temporal could not be told: %s", run.run_id, problem)
                return
            detail = f"Temporal has no open workflow {workflow_id}."
            owner = parsed(run.budget)["owner"]
            reason = ParkReason.NO_PROGRESS
            await self.opened.write(Park(run.run_id, None, None, reason, detail, owner, None, None, None))

    async def _drain(self) -> None:
        for runner in list(self._runners.values()):
            runner.drain()
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=20)
        await super()._drain()
