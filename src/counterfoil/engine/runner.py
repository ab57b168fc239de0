"""Drive one claimed run: execute its function from the top until it ends, waits, or needs a person."""

import asyncio
import traceback
from contextlib import suppress
from typing import Any

from counterfoil.engine.branches import Wait, current_branch, next_due, waits_of
from counterfoil.engine.budgets import held_by
from counterfoil.engine.call_perform import start_driver
from counterfoil.engine.cancelling import children_ended
from counterfoil.engine.clock import breathe
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.definitions import Workflow, dumped, loaded, signature_of
from counterfoil.engine.demands import Demand
from counterfoil.engine.execution import Execution, diverge
from counterfoil.engine.failures import said
from counterfoil.engine.finish import Finish, FinishAndWithdraw, Park, Suspend
from counterfoil.engine.leases import HandOver, Renew
from counterfoil.engine.opened import Opened
from counterfoil.engine.slots import LOOK_US
from counterfoil.engine.suspension import Diverged, Suspended
from counterfoil.model.codec import BODY_LIMIT, compact, parsed
from counterfoil.model.errors import CounterfoilError, Refused, StepFailed
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import ParkReason, RunRecord, RunState

LINGER_US = 300_000  # a wait shorter than this is sat out in memory
UNWIND_S = 10.0  # how long a closed execution may take to leave its function


class Runner:
    """One run under one fence. `drive` returns when this worker is done with it for now."""

    def __init__(self, opened: Opened, run: RunRecord, workflow: Workflow[Any, Any] | None, worker_id: str) -> None:
        self.opened = opened
        self.run = run
        self.execution = Execution(opened, run, workflow, worker_id)

    @property
    def seen(self) -> int:
        """The sequence of the newest entry that this execution knows."""
        return self.execution.journal.seen

    def foreign_entries(self) -> None:
        """Somebody else committed: look for entries of this run. Called on the loop."""
        if not self.execution.closed:
            self.execution.catch_up()

    def let_go(self) -> None:
        """Somebody moved the run on: whatever still runs here writes nothing more."""
        self.execution.close()

    def drain(self) -> None:
        """Hand the run over as soon as no step and no attempt is live."""
        self.execution.leaving = True
        self.execution.activity.set()

    async def drive(self) -> None:
        """Raises nothing that a run can cause: its end is in the journal. A lost fence ends quietly."""
        renewing = asyncio.create_task(self._renew())
        try:
            await self._drive()
        except (Refused, Suspended) as over:
            self.execution.close()
            broken = over if isinstance(over, Refused) else self.execution.broken
            if broken is None or getattr(broken, "code", "") not in ("fence_lost", "run_ended"):
                raise (broken or over) from over
        finally:
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing
            await self._unwind()

    async def _drive(self) -> None:
        execution = self.execution
        self._drive_open_operations()
        body = asyncio.create_task(self._body())
        body.add_done_callback(lambda _: execution.activity.set())
        self._body_part = body
        while True:
            execution.activity.clear()
            if execution.broken is not None:
                raise execution.broken
            if execution.leaving and not execution.busy and (execution.closed or not body.done()):
                execution.close()
                await execution.write(HandOver(self.run.run_id, self.run.fence, self.opened.deadlines))
                return
            if execution.diverged is not None:
                await self._diverged(execution.diverged, parsed(self.run.budget)["owner"])
                return
            if execution.closed:
                return
            if body.done() and not execution.drivers and not execution.busy:
                if await self._ended(body):
                    return
            elif execution.idle() and await self._stands_still(body):
                return
            if await self.opened.clock.wait(execution.activity, next_due(execution.branches)) is False:
                execution.pulse()

    async def _body(self) -> Any:
        """The workflow's function over its stored input. A cancelled run only closes its doubts."""
        execution = self.execution
        current_branch.set(execution.root)
        try:
            if self.run.cancel_asked:
                await children_ended(execution)
            if self.run.cancel_asked or execution.workflow is None:
                return None
            signature = signature_of(execution.workflow.function, skip=1)
            name, adapter = signature.inputs[0]
            given = loaded(adapter, parsed(self.run.input), where=name)
            result = await execution.workflow.function(EmbeddedRun(execution), given)
            plain = dumped(signature.result, result, where=f"the result of {execution.workflow.name}")
            if len(compact(plain)) > BODY_LIMIT:
                raise Refused("too_large", what="The result", size=len(compact(plain)), limit=BODY_LIMIT)
            return plain
        finally:
            if execution.root in execution.branches:
                execution.branches.remove(execution.root)

    def _drive_open_operations(self) -> None:
        """Doubts from before are driven whether or not the code reaches them again."""
        execution = self.execution
        for record in execution.operations.values():
            definition = self.opened.registry.operations.get(record.name)
            # An operation that follows another run's is not waited for when it is no longer wanted: it is withdrawn at the end.
            withdrawn = self.run.cancel_asked and not record.status.closed and record.reused_from is None
            if definition is not None and (in_doubt(record) or withdrawn):
                start_driver(execution, definition, record.operation_id)
            elif in_doubt(record):  # nobody here can ask its receiver, and a doubt without a driver would wait for ever
                diverge(execution, Diverged(record.position, record.name, "nothing: it declares no such operation"))

    async def _stands_still(self, body: asyncio.Task[Any]) -> bool:
        """Every branch waits. True when the run left this worker."""
        execution = self.execution
        for _ in range(8):  # let what was just released run on
            await breathe()
        if not execution.idle():
            return False
        if execution.turns.release_lowest():
            return False
        due = next_due(execution.branches)
        now = self.opened.clock.now_us()
        demand = execution.demands.first()
        if due is not None and due - now < LINGER_US and demand is None:
            return False
        if demand is not None:
            left = await self._park(demand)
        else:
            left = await execution.write(self._suspend(waits_of(execution.branches)))
        if left:
            execution.close()
            return True
        execution.catch_up()
        execution.pulse()  # something moved between the ruling and the park: whoever made a demand asks again
        return False

    def _suspend(self, waits: list[Wait]) -> Suspend:
        shown = [wait for wait in waits if wait.kind not in ("driver", "branches")] or waits
        first = min(shown, key=lambda wait: (wait.kind != "review", wait.deadline_at or 1 << 62), default=None)
        budget_owner = parsed(self.run.budget)["owner"]
        deadlines = [wait.deadline_at for wait in shown if wait.deadline_at is not None]
        # No owner, no wait: what has no deadline of its own falls to the budget's owner after a day.
        now = self.opened.clock.now_us()
        deadline = min(deadlines, default=now + budget_owner["within_us"])
        # Out of memory, whatever waits for a slot is taken up when there is room, and need not look by itself.
        dues = [now + LOOK_US if wait.kind == "slot" else wait.due_at for wait in waits if wait.due_at is not None]
        listed = [
            {"kind": wait.kind, "id": wait.id, "since_at": wait.since_at, "deadline_at": wait.deadline_at}
            for wait in shown
        ]
        return Suspend(
            self.run.run_id, self.run.fence, self.execution.journal.seen, listed, first.kind if first else "timer",
            first.sentence if first else "Waits.", min(dues, default=deadline), deadline,
            (first.owner if first else None) or budget_owner["name"], (first.owner_then if first else None) or budget_owner["then"],
            now,
        )  # fmt: skip

    async def _park(self, demand: Demand, *, void: int | None = None, failure: dict[str, Any] | None = None) -> bool:
        heading = "cancelled" if self.run.cancel_asked else None
        verb = Park(
            self.run.run_id,
            self.run.fence,
            self.execution.journal.seen,
            demand.reason,
            demand.detail,
            demand.owner,
            heading,
            void,
            failure,
            demand.undrilled,
            demand.spent,
            self.run.parent_run_id if self.run.cancel_asked else None,
        )
        return bool(await self.execution.write(verb))

    async def _ended(self, body: asyncio.Task[Any]) -> bool:
        """The function returned or raised. True when that is stored, or the run is parked with it."""
        execution = self.execution
        error = asyncio.CancelledError("the workflow cancelled itself") if body.cancelled() else body.exception()
        owner = parsed(self.run.budget)["owner"]
        if isinstance(error, Diverged):
            await self._diverged(error, owner)
        elif isinstance(error, StepFailed) and not self.run.cancel_asked:
            sequence = execution.failures.sequence_of(error)
            demand = Demand(ParkReason(error.park_reason), error.message, owner)
            if not await self._park(demand, void=sequence, failure=error.facts()):
                execution.catch_up()
                return False
        elif isinstance(error, BaseException) and not self.run.cancel_asked:
            if isinstance(error, Refused) and error.code == "fence_lost":
                raise error
            if not await self._finished(
                RunState.FAILED, None, self.failure_of(error), execution.failures.sequence_of(error)
            ):
                return False
        else:
            state = RunState.CANCELLED if self.run.cancel_asked else RunState.COMPLETED
            result = None if self.run.cancel_asked else compact(body.result())
            if not await self._finished(state, result, None):
                return False
        execution.close()
        return True

    async def _finished(
        self, state: RunState, result: str | None, failure: dict[str, Any] | None, void: int | None = None
    ) -> bool:
        execution = self.execution
        keys = tuple({o.business_key for o in execution.operations.values() if o.business_key is not None})
        unsent = any(not operation.status.closed for operation in execution.operations.values())
        kind = FinishAndWithdraw if unsent else Finish
        with self.opened.read() as reader:
            held = held_by(reader.get(RunRecord, self.run.run_id) or self.run)
        verb = kind(self.run.run_id, self.run.fence, state, result, failure, self.run.parent_run_id, keys, void, held)
        doubt: OperationRecord | None = await execution.write(verb)
        if doubt is None:
            return True
        # Rule 15: a run ends only when none of its operations is in doubt. Its end waits for the doubt to be closed.
        execution.catch_up()
        definition = self.opened.registry.operations.get(doubt.name)
        if definition is None:
            await self._diverged(Diverged(doubt.position, doubt.name, "nothing"), parsed(self.run.budget)["owner"])
            execution.close()
        else:
            start_driver(execution, definition, doubt.operation_id)
        return execution.closed

    async def _diverged(self, error: Diverged, owner: dict[str, Any]) -> None:
        detail = f"At {error.position} the record holds {error.recorded!r}; this code asks for {error.asked!r}."
        verb = Park(self.run.run_id, self.run.fence, None, ParkReason.CODE_CHANGED, detail, owner, None, None, None)
        await self.execution.write(verb)

    def failure_of(self, error: BaseException) -> dict[str, Any]:
        """What is stored of the exception that ended the run."""
        return failure_facts(error)

    async def _renew(self) -> None:
        """Keep the lease while work goes on without entries; every entry renews it as well."""
        third = self.opened.deadlines.lease // 3
        never = asyncio.Event()
        while True:
            await self.opened.clock.wait(never, self.opened.clock.now_us() + third)
            try:
                await self.execution.write(Renew(self.run.run_id, self.run.fence, self.opened.deadlines))
            except (Refused, Suspended):
                self.execution.close()
                return

    async def _unwind(self) -> None:
        """Let `finally` blocks of the workflow run; what still hangs is cancelled, and writes nothing either way."""
        self.execution.close()
        parts = [
            p for p in (getattr(self, "_body_part", None), *self.execution.parts, *self.execution.drivers.values()) if p
        ]
        pending = {part for part in parts if not part.done()}
        if pending:
            _, pending = await asyncio.wait(pending, timeout=UNWIND_S)
        for part in pending:
            part.cancel()
        for part in parts:
            if part.done() and not part.cancelled():
                part.exception()


def failure_facts(error: BaseException) -> dict[str, Any]:
    """What is stored of an exception that ended a run."""
    if isinstance(error, CounterfoilError):
        return {
            "type": type(error).__name__,
            "code": error.code,
            "message": error.message,
            "kind": type(error).__name__,
        }
    trace = "".join(traceback.format_exception(error)[-6:])
    return {"type": type(error).__name__, "message": said(error).partition(": ")[2], "traceback": trace[-6000:]}
