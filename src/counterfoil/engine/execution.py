"""One execution of a run's function from the top: recorded results are given back by position, in journal order."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from counterfoil.engine.branches import Branch, Scope, Wait, current_branch, next_call
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.demands import Demands
from counterfoil.engine.failures import Failures
from counterfoil.engine.opened import Opened
from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.engine.turns import Turns
from counterfoil.engine.waits import Fire
from counterfoil.model.errors import Refused, TimedOut
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.replay import Journal, Outcome
from counterfoil.store.port import StorageError

T = TypeVar("T")

_BEGINNING = frozenset({EntryKind.SUBMITTED, EntryKind.STARTED})  # a whole record of no others has no operation
_WRITES = (EntryKind.PREPARED, EntryKind.CHILD)  # what opens a write, or a run that may write


class Execution:
    """The state of one execution. The calls of the `run` port are functions over it, one file each.

    `journal` is folded from the run's entries; `operations` are its operations as last read; `unmet` are the positions of the
    writes in the record that the code has not reached yet.
    """

    def __init__(self, opened: Opened, run: RunRecord, workflow: Workflow[Any, Any] | None, worker_id: str) -> None:
        self.opened = opened
        self.run = run
        self.workflow = workflow
        self.worker_id = worker_id
        self.journal = Journal()
        self.operations: dict[str, OperationRecord] = {}
        self.root = Branch("", run.created_at)
        self.branches: list[Branch] = [self.root]
        self.demands = Demands()
        self.closed = False
        self.diverged: Diverged | None = None
        self.leaving = False  # handed over as soon as nothing is live: a draining worker, or a run cancelled meanwhile
        self.cancelled = asyncio.Event()  # somebody asked to cancel: nothing more is waited for that only reads
        self.activity = asyncio.Event()
        self.turns = Turns(self.journal, self.branches, self.activity.set)
        self.drivers: dict[str, asyncio.Task[None]] = {}
        self.failures = Failures()
        self.unchanged: set[str] = set()  # the changes before which this run passed here: `run.changed`
        self.lineage: tuple[str, ...] = ()  # the runs whose answer this one revises
        self.parts: list[asyncio.Task[Any]] = []
        self.broken: BaseException | None = None
        self._owned: dict[asyncio.Future[Any], asyncio.Task[None]] = {}
        self._told_busy = False
        self._pulse: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pulsed: set[Branch] = set()
        self.catch_up()
        self.unmet = {place for place, opened in self.journal.opened.items() if opened.kind in _WRITES}

    # ------------------------------------------------------------------ the journal

    def catch_up(self) -> None:
        """Fold every entry that is not folded yet: our own, and those that people and other workers appended."""
        with self.opened.read() as reader:
            entries = reader.entries(self.run.run_id, after=self.journal.seen)
            if not entries:
                return
            if self.journal.seen >= 0 or not _BEGINNING.issuperset(entry.kind for entry in entries):
                self.operations = {o.operation_id: o for o in reader.find(OperationRecord, "run_id", self.run.run_id)}
        if not self.run.cancel_asked and any(entry.kind is EntryKind.CANCEL_ASKED for entry in entries):
            self.leaving = True
            self.cancelled.set()
        for entry in entries:
            data = json.loads(entry.body)["data"]
            self.journal.fold(entry.sequence, entry.kind, entry.position, entry.name, data, entry.at)
        self.pulse()

    def noted(self, entry: Any, data: dict[str, Any]) -> Outcome | None:
        """Fold an entry that this execution has just appended; if others came before it, read them all."""
        if entry.sequence == self.journal.seen + 1:
            self.journal.fold(entry.sequence, entry.kind, entry.position, entry.name, data, entry.at)
        else:
            self.catch_up()
        return self.journal.ended.get(entry.position) if entry.position else None

    async def write(self, verb: Any) -> Any:
        """Commit a verb. What the database or a lost fence does to us is never an outcome of the run: it ends this execution."""
        try:
            return await self.opened.writer.submit(verb)
        except Refused as refused:
            if refused.code != "fence_lost" and not isinstance(refused, StorageError):
                raise
            problem: Exception = refused
        except Exception as defect:
            problem = defect
        self.broken = self.broken or problem
        self.close()
        raise Suspended from problem

    # ------------------------------------------------------------------ calls

    @property
    def branch(self) -> Branch:
        return current_branch.get(self.root)

    def call(self, name: str, digest: str | None) -> "_Call":
        """The next position of this branch. A difference to the record closes the execution, whatever the code makes of it."""
        return _Call(self, name, digest)

    async def recorded(self, outcome: Outcome | None) -> Outcome | None:
        """The outcome of a call, if there is one: when its turn has come, live as in a replay."""
        if outcome is not None:
            return await self.given(outcome)
        # Without an outcome its caller was told that time was over: at a replay it must not act after the fact.
        fired = self._fired_before(None)
        if fired is not None:
            await self.turns.take(self.branch, fired[0].sequence, fired[0].at)
            if self.closed:
                raise Suspended
            raise fired[1]
        return None

    async def given(self, outcome: Outcome) -> Outcome:
        """Wait for an outcome's turn. Raises TimedOut of a scope that fired before it."""
        fired = self._fired_before(outcome.sequence)
        if fired is not None:
            self.turns.pass_over(outcome.sequence)  # its caller was told that time was over
            outcome = fired[0]
        await self.turns.take(self.branch, outcome.sequence, outcome.at)
        if self.closed:
            raise Suspended
        if fired is not None:
            raise fired[1]
        return outcome

    # ------------------------------------------------------------------ work that no user scope can cancel

    async def owned(self, body: Coroutine[Any, Any, T]) -> T:
        """Run as work of the engine's own. Cancelling the caller only detaches it."""
        if self.closed:
            body.close()
            raise Suspended
        # As asyncio.shield, in two turns of the loop less: what cancels the answer does not reach the work.
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._owned[answer] = asyncio.create_task(_carried(body, answer, self._ended))
        try:
            return await answer
        finally:
            if self.closed:
                raise Suspended

    def _ended(self, answer: asyncio.Future[Any]) -> None:
        self._owned.pop(answer, None)
        if self.leaving and not self._owned:
            self.close()  # what was live is recorded; nothing new begins here
        # Mostly its caller goes on now. The runner looks only where there is something for it to do.
        if self._told_busy or self.closed or self.root not in self.branches or self.idle():
            self._told_busy = False
            self.activity.set()

    # ------------------------------------------------------------------ waiting

    async def wait(self, wait: Wait, *, branch: Branch | None = None, seen: int | None = None) -> None:
        """Until something changed: an entry arrived, or the time has come. Raises Suspended, or TimedOut of a scope.

        `seen` is `journal.seen` from before the question whose answer was to wait: whatever arrived since is looked at
        first, or an answer that came in between would wake nobody.
        """
        branch = branch or self.branch
        if self.closed:
            raise Suspended
        if seen is not None and self.journal.seen != seen:
            return
        scope = min(branch.scopes, key=lambda s: s.until, default=None)
        if scope is not None:
            wait = _sooner(wait, scope)
        branch.waiting = wait
        self._pulsed.add(branch)
        self.activity.set()
        try:
            await asyncio.shield(self._pulse)
        finally:
            branch.waiting = None
            self._pulsed.discard(branch)
        if self.closed:
            raise Suspended
        await self._fire(branch)

    def pulse(self) -> None:
        """Let every waiting call look again."""
        pulse, self._pulse = self._pulse, asyncio.get_running_loop().create_future()
        for branch in self._pulsed:
            branch.waiting = None  # as in `_give`
        self._pulsed.clear()
        if not pulse.done():
            pulse.set_result(None)
        self.activity.set()

    async def _fire(self, branch: Branch) -> None:
        for scope in branch.scopes:
            if scope.position in self.journal.ended or self.opened.clock.now_us() < scope.until:
                continue
            verb = Fire(self.run.run_id, self.run.fence, scope.position, "timeout", scope.until, self.opened.deadlines)
            entry = await self.write(verb)
            if entry is not None:
                self.noted(entry, {"until": scope.until})
        fired = self._fired_before(None)
        if fired is not None:
            await self.turns.take(branch, fired[0].sequence, fired[0].at)
            raise fired[1]

    def _fired_before(self, sequence: int | None) -> tuple[Outcome, TimedOut] | None:
        """The open timeout of this branch that fired first, and before an outcome."""
        if not self.branch.scopes:
            return None
        ended = self.journal.ended
        fired = [(ended[s.position], s.position) for s in self.branch.scopes if s.position in ended]
        if not fired:
            return None
        outcome, position = min(fired, key=lambda pair: pair[0].sequence)
        if sequence is not None and outcome.sequence > sequence:
            return None
        error = TimedOut(f"The work under the timeout at {position}")
        return outcome, self.failures.told(error, outcome.sequence)

    # ------------------------------------------------------------------ standing still

    @property
    def busy(self) -> bool:
        """A step, an attempt or a commit is live. Whoever is told so finds `activity` set when one of them has ended."""
        self._told_busy = self._told_busy or bool(self._owned)
        return bool(self._owned)

    def idle(self) -> bool:
        """Every open branch waits, and no step or attempt is live."""
        return bool(self.branches) and not self._owned and all(branch.waiting is not None for branch in self.branches)

    def close(self) -> None:
        """Every later call raises Suspended and writes nothing; what waits is told so now."""
        self.closed = True
        self.pulse()
        self.turns.release_all()

    def open_branch(self, branch: Branch, body: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a body in a branch of its own."""
        self.branches.append(branch)

        async def in_branch() -> T:
            current_branch.set(branch)
            return await body

        def left(_: asyncio.Task[T]) -> None:
            # Here and not in the coroutine: the callbacks of one ending run back to back, so there is no turn of the loop
            # in which this branch is gone while its parent still seems to wait for it.
            self.branches.remove(branch)
            self.activity.set()

        part = asyncio.create_task(in_branch())
        part.add_done_callback(_looked_at)
        part.add_done_callback(left)
        return part


def diverge(execution: Execution, difference: Diverged) -> None:
    """This code cannot go on with this record: nothing more is written."""
    if execution.diverged is None and not execution.closed:
        execution.diverged = difference
        execution.close()


def must_have_met(execution: Execution, prefix: str) -> None:
    """Every write that is recorded under this prefix was reached again. Else the code that goes on is not the one that wrote.

    Whoever planned it would hear nothing of it, and plan it anew beside the one that may have happened. Raises Diverged.
    """
    missed = min((place for place in execution.unmet if place.startswith(prefix)), default=None)
    if missed is not None:
        name = execution.journal.opened[missed].name
        difference = Diverged(missed, name, "nothing: it refuses the call, or does not know it")
        diverge(execution, difference)
        raise difference


class _Call:
    """A call while its block runs. A class and no generator: every step passes through here."""

    __slots__ = ("_branch", "_digest", "_execution", "_name")

    def __init__(self, execution: Execution, name: str, digest: str | None) -> None:
        self._execution = execution
        self._name = name
        self._digest = digest
        self._branch = execution.branch

    def __enter__(self) -> str:
        execution = self._execution
        try:
            position = next_call(self._branch, execution.journal, self._name, self._digest, closed=execution.closed)
        except Diverged as difference:
            diverge(execution, difference)
            raise
        execution.unmet.discard(position)
        return position

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._branch.pending = None
        if isinstance(error, Diverged):
            diverge(self._execution, error)


async def _carried(
    body: Coroutine[Any, Any, T], answer: asyncio.Future[T], ended: Callable[[asyncio.Future[T]], None]
) -> None:
    """Do the work, and give its end to whoever still waits for it."""
    try:
        result = await body
    except BaseException as error:
        ended(answer)
        if not answer.done():
            answer.set_exception(error)
            answer.exception()  # looked at: a caller that the loop's end swept away will not
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
            raise
    else:
        ended(answer)
        if not answer.done():
            answer.set_result(result)


def _looked_at(part: asyncio.Task[Any]) -> None:
    """Whoever waits for it hears its exception; after a suspension nobody does, and nothing is lost."""
    if not part.cancelled():
        part.exception()


def _sooner(wait: Wait, scope: Scope) -> Wait:
    due = scope.until if wait.due_at is None else min(wait.due_at, scope.until)
    return Wait(
        wait.kind,
        wait.id,
        wait.since_at,
        due,
        wait.deadline_at or scope.until,
        wait.sentence,
        wait.owner,
        wait.owner_then,
    )
