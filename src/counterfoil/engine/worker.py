"""A worker: claims due runs, drives many at once, notices the dead, and drains in bounded time."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from counterfoil.engine.administration import WorkerSeen, WorkerStopped
from counterfoil.engine.finish import Overdue, Park
from counterfoil.engine.isolation import Isolate, Isolation
from counterfoil.engine.leases import HEARTBEAT_US, Claim, DiedAlone, HandOver, StopIsOver, died_alone
from counterfoil.engine.opened import Opened
from counterfoil.engine.presence import Presence
from counterfoil.engine.problem_log import log
from counterfoil.engine.runner import Runner
from counterfoil.engine.slots import pools_of
from counterfoil.engine.sought import Sought
from counterfoil.engine.standing import stand
from counterfoil.engine.taking_over import notice_the_dead
from counterfoil.engine.writer import Touched
from counterfoil.model.codec import parsed
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.store.port import Reader, StorageError

POLL_US = 50_000  # how often another process's commits are looked for
SUSPECT = 2  # after so many crashes a run is driven alone
DRAIN_S = 25.0  # service managers kill after 30 s


class Worker:
    """`run` drives runs until `stop`. `problems` keeps what no run could be blamed for, newest last.

    `outages`: how the database failed runs that were driven here. They are given back.
    With `isolate` suspects run in processes of their own. Without, in this one, with nothing beside them. `only` restricts
    it to these runs, `queues` to the workflows that declare one of them. `presence`: the caller's, who begins and ends it.
    """

    def __init__(
        self,
        opened: Opened,
        *,
        concurrency: int = 256,
        only: frozenset[str] | None = None,
        isolate: Isolate | None = None,
        queues: frozenset[str] | None = None,
        presence: Presence | None = None,
    ) -> None:
        self.opened = opened
        self._own = Presence(opened) if presence is None else None
        self.worker_id = (presence or self._own or Presence(opened)).worker_id
        self.problems: list[BaseException] = []
        self.outages: list[StorageError] = []
        self._concurrency = concurrency
        self._only = only
        self._queues = queues
        self._workflows = {
            known: workflow
            for known, workflow in opened.registry.workflows.items()
            if queues is None or workflow.queue in queues
        }
        names = frozenset(f"{name}/{version}" for name, version in self._workflows)
        self._sought = Sought(opened.registry, names, only)
        self._runners: dict[str, Runner] = {}
        self._parts: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._quiet = False
        self._loop = asyncio.get_running_loop()
        self._seen_at = 0
        self._version = -1
        self._left: set[str] = set()  # runs that this worker cannot take: another may
        self._isolation = Isolation(isolate, self._suspect_left, self._wake.set) if isolate is not None else None
        self._let_down: list[Runner] = []  # the database failed them: their runs are given back when it is there again
        self._queued: set[str] = set()  # suspects that were seen and wait for their turn in the one child process

    async def run(self, *, until_idle: bool = False) -> None:
        """Drive until `stop`, or with `until_idle` until nothing is due and nothing is driven."""
        try:
            if self._own is not None:
                queues = None if self._queues is None else tuple(sorted(self._queues))
                await self.opened.write(self._own.begin(self.versions(), queues))
            await self._take_up_parked(ParkReason.NO_WORKER, ParkReason.CODE_CHANGED)
            self.opened.listeners.add(self._committed)
            unheard = self.opened.database.hear(self._word_came)
            try:
                await self._work(until_idle)
            finally:
                unheard()
                self.opened.listeners.discard(self._committed)
                await self._drain()
                if self._own is not None:
                    with suppress(CounterfoilError):
                        await self.opened.write(WorkerStopped(self.worker_id))
        finally:
            if self._own is not None:
                self._own.end()

    def versions(self) -> dict[str, list[int]]:
        """The workflows that it drives, each with its versions; none where it is for certain runs alone."""
        found: dict[str, list[int]] = {}
        for name, version in () if self._only is not None else self._workflows:
            found.setdefault(name, []).append(version)
        return found

    async def _take_up_parked(self, *reasons: ParkReason) -> None:
        """Runs whose stop is over by itself: their code has come with this worker, or the clocks agree again."""
        if self._only is not None:
            return
        for reason in reasons:
            before: int | None = None
            while True:
                with self.opened.read() as reader:
                    page = reader.lists.runs(state=RunState.PARKED.value, reason=reason.value, before=before, limit=200)
                for run in page.items:
                    if (run.workflow, run.workflow_version) in self._workflows:
                        await self.opened.write(StopIsOver(run.run_id))
                before = page.next_cursor
                if before is None:
                    break

    def stop(self) -> None:
        """Claim nothing more, finish or hand over, and end. May be called from a signal handler."""
        self._stopping = True
        self._wake.set()

    def _word_came(self) -> None:
        """Another process may have committed. Called from a thread of the database's."""
        self._loop.call_soon_threadsafe(self._wake.set)

    @property
    def driving(self) -> frozenset[str]:
        return frozenset(self._runners)

    async def _work(self, until_idle: bool) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                claimed = await self._turn()
            except StorageError as problem:
                if problem.code == "server_promoted":  # another history, which this process knows nothing of
                    raise
                # A lock, a full disk, a file that was replaced: never an outcome. It is tried again, and it is seen.
                log.error("this worker cannot reach its database: %s", problem)
                claimed = 1
            driving = self._runners or (self._isolation is not None and self._isolation.busy)
            if until_idle and not claimed and not driving and not self._wake.is_set() and not self._anything_due():
                return
            await self.opened.clock.wait(self._wake, self.opened.clock.now_us() + POLL_US)

    def _anything_due(self) -> bool:
        with self.opened.read() as reader:
            return self._sought.anything(reader, self.opened.clock.now_us(), self._left)

    async def _turn(self) -> int:
        """Show that this worker lives, notice others, claim what is due. Gives how many runs were taken."""
        now = self.opened.clock.now_us()
        if now - self._seen_at >= HEARTBEAT_US:
            await self._beat(now)
        self._notice_others()
        return await self._claim(now)

    async def _beat(self, now: int) -> None:
        self._seen_at = now
        await self.opened.write(WorkerSeen(self.worker_id, self._stopping))
        self._hear_quiet()
        self._left.clear()
        let_down, self._let_down = self._let_down, []
        for runner in let_down:
            await self._give_back(runner)
        await self._move_the_hung()
        if not self.opened.clock_jumped():
            await self._take_up_parked(ParkReason.CLOCK_JUMP)
        await notice_the_dead(self.opened, self.worker_id)
        if self.opened.host_id is not None:
            # What other hosts have sent is known here too, and new ones are answered. Last: a state folder that fails keeps nothing
            # else of a heartbeat from being done.
            await asyncio.to_thread(stand, self.opened)

    def _hear_quiet(self) -> None:
        """A person may have asked this worker to take up nothing more, and to hand over what it drives."""
        with self.opened.read() as reader:
            own = reader.get(WorkerRecord, self.worker_id)
        self._quiet = own is not None and bool(own.quiet)
        if self._quiet:
            if self._isolation is not None:
                self._isolation.hand_over()
            for runner in list(self._runners.values()):
                runner.drain()

    async def _move_the_hung(self) -> None:
        """A run that works without an entry for too long is moved, though its worker lives and renews its lease."""
        with self.opened.read() as reader:
            driven = [reader.get(RunRecord, run_id) for run_id in self._runners]
            now = max(self.opened.clock.now_us(), reader.installation.clock_us if reader.installation else 0)
        for run in driven:
            if run is None or run.state is not RunState.RUNNING or (run.deadline_at or now + 1) > now:
                continue
            if await self._overdue(run) and run.run_id in self._runners:
                self._runners[run.run_id].let_go()

    def _committed(self, run_ids: Touched) -> None:
        """Called by the writer's thread after each commit of this process."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._touched, run_ids)

    def _touched(self, run_ids: Touched) -> None:
        for run_id, driven in run_ids.items():
            runner = self._runners.get(run_id)
            if runner is None:
                self._wake.set()
            elif not driven:
                runner.foreign_entries()  # an answer, a signal, a resolution: given in this very process

    def _notice_others(self) -> None:
        """Another process committed: its entries may be for runs that are driven here."""
        version = self.opened.database.data_version()
        if version != self._version:
            self._version = version
            self._hear_quiet()
            # Beside another busy process this happens all the time: one snapshot for all, and mostly nobody has to look.
            with self.opened.read() as reader:
                moved = [runner for runner in self._runners.values() if _has_news(runner, reader)]
            for runner in moved:
                runner.foreign_entries()

    async def _claim(self, now: int) -> int:
        free = self._concurrency - len(self._runners)
        if free <= 0 or self._quiet or self._alone():
            return 0
        with self.opened.read() as reader:
            # The database's time never goes back: after a wall clock that did, it is ahead of this host's.
            now = max(now, reader.installation.clock_us if reader.installation else 0)
            found = self._sought.found(reader, now, free + len(self._queued), self._left.union(self._runners))
        suspects = [run for run in found if _suspect(run)]
        self._queued = {run.run_id for run in suspects}
        if suspects and self._isolation is None:
            # A run that brought its worker down before is driven with nothing beside it: if it does so again, it was this
            # run. Nothing else is taken up until this worker is empty, so that the suspect gets its turn.
            found = [] if self._runners else suspects[:1]
        return sum(await asyncio.gather(*(self._take(run) for run in self._with_room(found, free))))

    def _with_room(self, found: list[RunRecord], free: int) -> list[RunRecord]:
        """As many as this worker may drive at once, and beside them whatever takes no place here."""
        chosen: list[RunRecord] = []
        for run in found:
            placed = self._driven_here(run)
            if not placed or free > 0:
                chosen.append(run)
                free -= placed
        return chosen

    def _driven_here(self, run: RunRecord) -> bool:
        """Not one that is only moved, is without code here, or is driven in a process of its own."""
        has_code = (run.workflow, run.workflow_version) in self._workflows or bool(run.cancel_asked)
        return has_code and run.state is not RunState.PARKED and (self._isolation is None or not _suspect(run))

    def _alone(self) -> bool:
        return any(runner.run.crashes >= SUSPECT for runner in self._runners.values())

    async def _take(self, run: RunRecord) -> int:
        now = self.opened.clock.now_us()
        if run.state is RunState.PARKED or self._hopeless(run, now):
            return int(await self._overdue(run))
        workflow = self._workflows.get((run.workflow, run.workflow_version))
        if workflow is None and not run.cancel_asked:
            await self._without_code(run)
            return 0
        if self._isolation is not None and _suspect(run):
            await self._apart(run, self._isolation)
            return 0
        claimed = await self.opened.write(
            Claim(
                run.run_id,
                self.worker_id,
                self.opened.deadlines,
                alone=_suspect(run),
                holder=run.worker_id if run.state is RunState.RUNNING else None,
                pools=pools_of(run, workflow),
                held_for=run.held_for,
            )
        )
        if claimed is None:
            return 0
        self._start(claimed, workflow)
        return 1

    async def _apart(self, run: RunRecord, isolation: Isolation) -> None:
        """A suspect is never driven here, so that it cannot take the others down. One that died alone is claimed no more."""
        if died_alone(run):
            await self.opened.write(DiedAlone(run.run_id))
        elif not isolation.busy and run.run_id not in self._left:  # its process may have ended since this was read
            isolation.start(run.run_id)  # else it stays due: its turn comes, here or elsewhere

    async def _suspect_left(self, run_id: str, status: int | None) -> None:
        """A suspect's process has ended. If it died, what a heartbeat would find later is done at once."""
        if status == 0:
            return
        log.error("run %s, which brought down workers before: its own process ended with %s", run_id, status)
        try:
            await notice_the_dead(self.opened, self.worker_id)
            if not await self.opened.write(DiedAlone(run_id)):
                self._left.add(run_id)  # it did not come as far as its claim: not at once again
        except StorageError as problem:
            log.error("this worker cannot reach its database: %s", problem)

    def _hopeless(self, run: RunRecord, now: int) -> bool:
        """Its deadline has passed by a margin: whoever could have taken it did not."""
        if run.deadline_at is None:
            return False
        if run.state is RunState.RUNNING:
            return run.deadline_at <= now
        # A wait that is over is due at its deadline: whoever has its code gets the time to take it up.
        late = self.opened.deadlines.pending if run.state is RunState.WAITING else 0
        known = (run.workflow, run.workflow_version) in self._workflows
        return not known and run.deadline_at + late <= now and not self._somebody_has(run)

    async def _overdue(self, run: RunRecord) -> bool:
        return bool(await self.opened.write(Overdue(run.run_id, parsed(run.budget)["owner"])))

    async def _without_code(self, run: RunRecord) -> None:
        """No code for this version here. If a living worker has it, that one takes the run; else a person is told."""
        registered = self.opened.registry.workflows
        mine = sorted(version for name, version in registered if name == run.workflow)
        self._left.add(run.run_id)
        of_another_queue = (run.workflow, run.workflow_version) in registered
        if not mine or of_another_queue or self._somebody_has(run):
            return
        detail = f"The run needs {run.workflow} version {run.workflow_version}; this worker has {mine}."
        owner = parsed(run.budget)["owner"]
        with suppress(Refused):
            await self.opened.write(
                Park(run.run_id, None, run.sequence, ParkReason.CODE_CHANGED, detail, owner, None, None, None)
            )

    def _somebody_has(self, run: RunRecord) -> bool:
        fresh = self.opened.clock.now_us() - 4 * HEARTBEAT_US
        with self.opened.read() as reader:
            workers = list(reader.rows(WorkerRecord))
        return any(
            w.stopped_at is None
            and w.seen_at >= fresh
            and run.workflow_version in json.loads(w.versions).get(run.workflow, [])
            for w in workers
        )

    def _start(self, run: RunRecord, workflow: Any) -> None:
        runner = Runner(self.opened, run, workflow, self.worker_id)
        self._runners[run.run_id] = runner
        part = asyncio.create_task(runner.drive())
        self._parts.add(part)
        part.add_done_callback(lambda ended: self._over(run.run_id, ended))

    def _over(self, run_id: str, part: asyncio.Task[None]) -> None:
        self._parts.discard(part)
        runner = self._runners.pop(run_id)
        problem = None if part.cancelled() else part.exception()
        if isinstance(problem, StorageError):  # never an outcome, and no defect
            log.error("run %s: the database failed it, and it is given back: %s", run_id, problem)
            self._let_down.append(runner)
            self.outages.append(problem)
        elif problem is not None:
            self.problems.append(problem)
            log.error("run %s: this worker lets go of it: %s", run_id, problem, exc_info=problem)
            self._left.add(run_id)  # not at once again: its lease ends, or a person looks at the log
        self._wake.set()

    async def _drain(self) -> None:
        if self._isolation is not None:
            self._isolation.leave()
        for runner in list(self._runners.values()):
            runner.drain()
        if self._parts:
            await asyncio.wait(self._parts, timeout=DRAIN_S)
        hung = list(self._runners.values())
        for part in list(self._parts):
            part.cancel()
        for runner in hung:
            await self._give_back(runner)
        if self._isolation is not None:
            await self._isolation.left()

    async def _give_back(self, runner: Runner) -> None:
        """What hangs in a step is not waited for: another worker claims the run at once, and the fence keeps this one out."""
        runner.let_go()
        with suppress(CounterfoilError):
            await self.opened.write(HandOver(runner.run.run_id, runner.run.fence, self.opened.deadlines))


def _has_news(runner: Runner, reader: Reader) -> bool:
    """Whether the run has entries that its execution does not know yet."""
    run = reader.get(RunRecord, runner.run.run_id)
    return run is None or run.sequence != runner.seen


def _suspect(run: RunRecord) -> bool:
    """Executing when its worker died, as often as makes it a suspect; a run that is claimable while executing died just now."""
    died = run.state is RunState.RUNNING and run.executing
    return run.crashes + int(bool(died)) >= SUSPECT
