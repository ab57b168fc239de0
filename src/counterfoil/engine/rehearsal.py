"""Replay an open run against the code at hand: nothing is written, nothing is sent, no step is executed.

Recorded results are given back as in any replay. Where the record ends, the code goes on by itself later: there the branch stands
until the rehearsal is over. What is found is what a worker with this code would find when it takes the run up.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from counterfoil.engine.branches import Wait
from counterfoil.engine.clock import breathe
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.opened import Opened
from counterfoil.engine.runner import Runner
from counterfoil.engine.sender import stored_payload
from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.model.errors import CounterfoilError, Refused, StepFailed
from counterfoil.model.operation import OperationStatus
from counterfoil.model.run import ParkReason, RunRecord

T = TypeVar("T")
PATIENCE_US = 10_000_000  # code between two calls that takes longer is not waited for
_BREATHS = 8  # as the runner: what was just released may run on
_UNSENT = (OperationStatus.PREPARED, OperationStatus.UNKNOWN)


class Verdict(StrEnum):
    """What a worker with this code would make of the run."""

    GOES_ON = "goes_on"
    PARKS = "parks"
    FAILS = "fails"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """`reason` of a park; `position`, `recorded` and `asked` where the code differs from the record."""

    verdict: Verdict
    sentence: str
    reason: ParkReason | None = None
    position: str | None = None
    recorded: str | None = None
    asked: str | None = None


async def rehearse(opened: Opened, run: RunRecord) -> Rehearsed:
    """What becomes of an open run under the code that is registered now."""
    workflow = opened.registry.workflows.get((run.workflow, run.workflow_version))
    if workflow is None:
        sentence = f"No code here is {run.workflow} version {run.workflow_version}."
        return Rehearsed(Verdict.PARKS, sentence, ParkReason.NO_WORKER)
    try:
        return await _Rehearser(opened, run, workflow).played()
    except CounterfoilError as problem:
        return Rehearsed(Verdict.NOT_CHECKED, problem.message)
    except OSError as problem:
        return Rehearsed(Verdict.NOT_CHECKED, said(problem))


class _Rehearsal(Execution):
    """An execution that stands wherever something would be done or written."""

    async def owned(self, body: Coroutine[Any, Any, T]) -> T:
        body.close()
        await self._stand()

    async def write(self, verb: Any) -> Any:
        del verb
        await self._stand()

    async def _stand(self) -> NoReturn:
        while True:
            await self.wait(Wait("attempt", "", 0, None, None, "goes on from here"))

    async def _fire(self, branch: Any) -> None:
        """Time passes for nobody here."""


class _Rehearser(Runner):
    def __init__(self, opened: Opened, run: RunRecord, workflow: Workflow[Any, Any]) -> None:
        self.opened = opened
        self.run = run
        self.execution = _Rehearsal(opened, run, workflow, "")

    async def played(self) -> Rehearsed:
        if (found := self._undeclared() or self._misfit()) is not None:
            return found
        body = self._body_part = asyncio.create_task(self._body())
        body.add_done_callback(lambda _: self.execution.activity.set())
        try:
            return await self._over(body)
        finally:
            await self._unwind()

    async def _over(self, body: asyncio.Task[Any]) -> Rehearsed:
        execution, clock = self.execution, self.opened.clock
        until = clock.now_us() + PATIENCE_US
        while True:
            execution.activity.clear()
            if execution.diverged is not None:
                return _differs(execution.diverged)
            if body.done():
                return self._verdict(body)
            if execution.idle() and await self._still():
                return Rehearsed(Verdict.GOES_ON, "The code agrees with all that is recorded.")
            if not await clock.wait(execution.activity, until) and not body.done() and not execution.idle():
                return Rehearsed(Verdict.NOT_CHECKED, "Its code took longer than ten seconds between two calls.")

    async def _still(self) -> bool:
        for _ in range(_BREATHS):
            await breathe()
        return self.execution.idle() and not self.execution.turns.release_lowest()

    def _verdict(self, body: asyncio.Task[Any]) -> Rehearsed:
        if body.cancelled():
            return Rehearsed(Verdict.FAILS, "The workflow cancels itself.")
        error = body.exception()
        if isinstance(error, Suspended):
            return Rehearsed(Verdict.GOES_ON, "The code agrees with all that is recorded.")
        if isinstance(error, Diverged):
            return _differs(error)
        if isinstance(error, StepFailed):
            if self.execution.failures.sequence_of(error) is None:
                return Rehearsed(Verdict.PARKS, f"This code stops it: {error.message}", ParkReason.STEP_FAILED)
            return Rehearsed(Verdict.GOES_ON, f"It stops as before, at a step that failed: {error.message}")
        if error is not None:
            return Rehearsed(Verdict.FAILS, f"The run would end with {said(error)}")
        missed = sorted(self.execution.unmet) if not self.run.cancel_asked else []
        if missed:
            name = self.execution.journal.opened[missed[0]].name
            sentence = (
                f"This code ends the run without {len(missed)} of its recorded writes, the first of them {name}: what was "
                "not sent yet would be withdrawn, approved or not."
            )
            return Rehearsed(Verdict.FAILS, sentence, None, missed[0], name, "nothing: it ends before")
        return Rehearsed(Verdict.GOES_ON, "The code agrees with all that is recorded, and ends.")

    def _undeclared(self) -> Rehearsed | None:
        """A doubt whose operation nobody declares: nobody could ask its receiver."""
        for record in self.execution.operations.values():
            if in_doubt(record) and record.name not in self.opened.registry.operations:
                return _differs(Diverged(record.position, record.name, "nothing: it declares no such operation"))
        return None

    def _misfit(self) -> Rehearsed | None:
        """A payload that may still be sent, and that this code does not take."""
        for record in self.execution.operations.values():
            operation = self.opened.registry.operations.get(record.name)
            if operation is None or record.status not in _UNSENT or record.reused_from is not None:
                continue
            try:
                stored_payload(operation, record)
            except Refused as misfit:
                sentence = f"op-{record.number} ({record.name}) would not be sent. {misfit.message}"
                return Rehearsed(
                    Verdict.PARKS, sentence, ParkReason.CODE_CHANGED, record.position, record.name, record.name
                )
        return None


def _differs(found: Diverged) -> Rehearsed:
    sentence = f"At {found.position} the record holds {found.recorded!r}; this code asks for {found.asked!r}."
    return Rehearsed(
        Verdict.PARKS, sentence, ParkReason.CODE_CHANGED, found.position, str(found.recorded), str(found.asked)
    )
