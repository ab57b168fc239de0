"""One call of a run whose function is executed by Temporal: claimed, driven by the rules of the engine, and given back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Any

from counterfoil.engine.branches import Branch, Scope, Wait, current_branch
from counterfoil.engine.cancelling import children_ended
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.execution import Execution
from counterfoil.engine.finish import Suspend
from counterfoil.engine.leases import HandOver
from counterfoil.engine.opened import Opened
from counterfoil.engine.runner import Runner, failure_facts
from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.integrations.temporal import messages
from counterfoil.integrations.temporal.failures import error_of, facts_of
from counterfoil.integrations.temporal.messages import Call, End, Said
from counterfoil.model.codec import parsed
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import StorageError

Work = Callable[[EmbeddedRun], Awaitable[Any]]

# What people and receivers write from outside: a branch that waits meanwhile looks again.
_OUTSIDE = frozenset(
    {EntryKind.ANSWER, EntryKind.WITHDRAWN, EntryKind.SIGNAL, EntryKind.RESOLVED, EntryKind.RESUMED, EntryKind.LATE}
)


def branch_of(call: Call) -> Branch:
    """The branch in which a call is the next: its prefix and its number are its position."""
    scopes = [Scope(position, until) for position, until in call.scopes]
    return Branch(call.prefix, call.last_at, number=call.number - 1, scopes=scopes)


class CallRunner(Runner):
    """Drives one claimed run for one call. `outcome` is set when the call has ended; the run is let go of either way."""

    def __init__(self, opened: Opened, run: RunRecord, worker_id: str, call: Call, work: Work) -> None:
        super().__init__(opened, run, None, worker_id)
        self.outcome: Said | None = None
        self._call = call
        self._work = work
        self._began = self.execution.journal.seen

    async def _body(self) -> Any:
        execution = self.execution
        execution.branches.remove(execution.root)
        for sequence in execution.journal.order:  # of calls that were answered in activities of their own
            execution.turns.pass_over(sequence)
        return await execution.open_branch(branch_of(self._call), _of(self._work, EmbeddedRun(execution)))

    async def _stands_still(self, body: asyncio.Task[Any]) -> bool:
        """A call that has ended does not wait for an operation that nobody drives to its end now; a doubt does stop it."""
        if body.done() and self.execution.demands.first() is None:
            return await self._ended(body)
        return await super()._stands_still(body)

    async def _ended(self, body: asyncio.Task[Any]) -> bool:
        error = asyncio.CancelledError() if body.cancelled() else body.exception()
        if isinstance(error, Diverged):
            await self._diverged(error, parsed(self.run.budget)["owner"])
            self.execution.close()
            return True
        if error is not None and (isinstance(error, StorageError) or not isinstance(error, CounterfoilError)):
            raise error  # never an outcome
        self.outcome = outcome_of(self.execution, error, None if error is not None else body.result(), self._call)
        if not await self._let_go():
            self.execution.catch_up()
            return False
        self.execution.close()
        return True

    async def _let_go(self) -> bool:
        """Between two calls anybody may go on; while other branches wait, the run does."""
        run = self.run
        others = self._call.others
        if not others:
            await self.execution.write(HandOver(run.run_id, run.fence, self.opened.deadlines))
            return True
        first = min(others, key=lambda wait: (wait.kind != "review", wait.deadline_at or 1 << 62))
        due = min((wait.due_at for wait in others if wait.due_at is not None), default=None)
        deadline = min((wait.deadline_at for wait in others if wait.deadline_at is not None), default=None)
        now = self.opened.clock.now_us()
        verb = Suspend(
            run.run_id, run.fence, self.execution.journal.seen, [], first.kind, first.sentence, due, deadline, first.owner,
            first.owner_then, now,
        )  # fmt: skip
        return bool(await self.execution.write(self._beside(verb)))

    def _suspend(self, waits: list[Wait]) -> Suspend:
        verb = super()._suspend(waits)
        # Temporal's timer ends the wait at its time; only when nobody came for it by then is it overdue.
        deadline = None if verb.deadline_at is None else verb.deadline_at + self.opened.deadlines.pending
        # No worker takes up here what waits for room: it is looked at when its own time has come.
        verb = replace(
            verb, due_at=min((each.due_at for each in waits if each.due_at is not None), default=verb.due_at)
        )
        self.waits = messages.Wait(
            verb.why, verb.waits[0]["id"] if verb.waits else "", self.opened.clock.now_us(), verb.due_at, deadline,
            verb.sentence, verb.owner, verb.owner_then,
        )  # fmt: skip
        return self._beside(replace(verb, deadline_at=deadline))

    def _beside(self, verb: Suspend) -> Suspend:
        """The same with what other branches wait for. Whatever arrived meanwhile is theirs to look at, at once."""
        others = self._call.others
        if not others:
            return verb
        with self.opened.read() as reader:
            arrived = any(e.kind in _OUTSIDE for e in reader.entries(self.run.run_id, after=self._began))
        dues = [wait.due_at for wait in others if wait.due_at is not None]
        due = min([*dues, *([] if verb.due_at is None else [verb.due_at])], default=None)
        listed = [{name: asdict(wait)[name] for name in ("kind", "id", "since_at", "deadline_at")} for wait in others]
        now = self.opened.clock.now_us()
        return replace(verb, waits=[*verb.waits, *listed], due_at=now if arrived else due)

    waits: messages.Wait | None = None


class EndRunner(Runner):
    """Drives one claimed run to the end that its function came to elsewhere."""

    def __init__(self, opened: Opened, run: RunRecord, worker_id: str, end: End, asker: str) -> None:
        super().__init__(opened, run, None, worker_id)
        self._end = end
        self._asker = asker

    async def _body(self) -> Any:
        execution = self.execution
        current_branch.set(execution.root)
        for sequence in execution.journal.order:
            execution.turns.pass_over(sequence)
        try:
            if self.run.cancel_asked:
                await children_ended(execution)
                return None
            failure, problem = self._end.failure, self._end.problem
            if failure is None and problem is None:
                return self._end.result
            error = _Elsewhere(problem or {}) if failure is None else error_of(failure)
            if self._end.sequence is not None:
                execution.failures.told(error, self._end.sequence)
            raise error
        finally:
            execution.branches.remove(execution.root)

    def failure_of(self, error: BaseException) -> dict[str, Any]:
        """With the execution that failed: what still comes from it must not take the run up again."""
        facts = error.facts if isinstance(error, _Elsewhere) else failure_facts(error)
        return facts | {"execution": self._asker}


class _Elsewhere(Exception):
    """An exception of the workflow's function, which was raised in another process."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(facts.get("message", ""))
        self.facts = facts


class Reading(Execution):
    """The record alone: what it does not answer ends this execution, and nothing is written."""

    async def write(self, verb: Any) -> Any:
        self.close()
        raise Suspended

    async def wait(self, wait: Wait, *, branch: Branch | None = None, seen: int | None = None) -> None:
        self.close()
        raise Suspended


async def on_record(opened: Opened, run: RunRecord, worker_id: str, call: Call, work: Work) -> Said | None:
    """What the record of a run that has ended answers; None where it says nothing. Raises Diverged for other content."""
    execution = Reading(opened, run, None, worker_id)
    execution.branches.remove(execution.root)
    for sequence in execution.journal.order:
        execution.turns.pass_over(sequence)
    part = execution.open_branch(branch_of(call), _of(work, EmbeddedRun(execution)))
    await asyncio.wait({part})
    drivers = list(execution.drivers.values())
    for driver in drivers:
        driver.cancel()
    await asyncio.gather(*drivers, return_exceptions=True)
    error = part.exception()
    if isinstance(error, Suspended):
        return None
    if error is not None and not isinstance(error, CounterfoilError):
        raise error
    return outcome_of(execution, error, None if error is not None else part.result(), call)


def outcome_of(execution: Execution, error: CounterfoilError | None, value: Any, call: Call) -> Said:
    """How a call ended, as its workflow hears it."""
    at = _at(execution, call)
    if error is None:
        return Said("done", value, at=at)
    return Said("failed", failure=facts_of(error), at=at, sequence=execution.failures.sequence_of(error))


def _at(execution: Execution, call: Call) -> int | None:
    """When the record says so: the run's clock stands there, also when it is told again."""
    outcome = execution.journal.ended.get(f"{call.prefix}{call.number}")
    opened = execution.journal.opened.get(f"{call.prefix}{call.number}")
    if outcome is None and opened is not None and "operation_id" in opened.data:
        outcome = execution.journal.closings.get(opened.data["operation_id"])
    return outcome.at if outcome is not None else None


async def _of(work: Work, run: EmbeddedRun) -> Any:
    return await work(run)


def standing(run: RunRecord) -> messages.Wait:
    """What a run that nothing is driving waits for, by its row."""
    kind = "parked" if run.state is RunState.PARKED else run.reason or "timer"
    return messages.Wait(
        kind, run.run_id, run.updated_at, None if run.state is RunState.PARKED else run.due_at, run.deadline_at, run.sentence,
        run.owner, run.owner_then,
    )  # fmt: skip


def refusal(error: Refused) -> Said:
    """A rule refused the call: the workflow hears it as an exception."""
    return Said("failed", failure=facts_of(error))
