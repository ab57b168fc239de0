"""Cancelling a run: what was never sent is withdrawn, in the run and in every run that it has begun, and it ends after them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.branches import Wait
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.demands import Demand
from counterfoil.engine.execution import Execution
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import BUDGET_REASONS, ParkReason, RunRecord, RunState
from counterfoil.rules.wishes import about_run
from counterfoil.store.port import Read, Snapshot
from counterfoil.store.transaction import Transaction

LOOK_AGAIN_US = 10_000_000


@dataclass(frozen=True, slots=True)
class AskToCancel(RunVerb):
    """Withdraw the wish: nothing more is sent. The run ends cancelled once none of its operations is in doubt.

    `begun` are the runs that it has begun, and those that they have: with them nothing more is sent either, from the same
    commit on. One that is begun later is cancelled from its start (SubmitChild); one that was overlooked is asked by whoever
    drives its parent.
    """

    by: str | None
    reason: str
    begun: tuple[str, ...] = ()
    boundary: ClassVar[str] = "run.cancelled"
    sends: ClassVar[bool] = True

    @property
    def touches(self) -> tuple[str, ...]:
        return (self.run_id, *self.begun)

    def reads(self) -> Sequence[Read]:
        return (
            *(Read.key(RunRecord, each) for each in self.touches),
            *(Read.by(OperationRecord, "run_id", each) for each in self.touches),
            *acting_reads(self.by),
        )

    def decide(self, tx: Transaction) -> RunRecord:
        run = tx.must(RunRecord, self.run_id)
        if self.by is not None:
            permitted(tx, self.by, about_run(Act.CANCEL, run))
        if run.state.ended:
            raise Refused("run_ended", run_id=self.run_id, state=run.state.value)
        for each in self.begun:
            child = tx.must(RunRecord, each)
            if not child.state.ended and not child.cancel_asked:
                self._asked(tx, child, {"with": self.run_id})
        self._asked(tx, run, {})
        return tx.must(RunRecord, self.run_id)

    def _asked(self, tx: Transaction, run: RunRecord, besides: dict[str, Any]) -> None:
        operations = tx.find(OperationRecord, "run_id", run.run_id)
        for operation in operations:
            # Cancelling a run in doubt withdraws the authority to send; asking goes on.
            if not operation.status.closed and operation.withdrawn is None:
                tx.put(replace(operation, version=operation.version + 1, withdrawn="cancelled"))
        tx.put(replace(run, cancel_asked=1, heading="cancelled"))
        data = {"by": self.by, "reason": self.reason} | besides
        tx.append(run.run_id, EntryKind.CANCEL_ASKED, data=data)
        doubt = any(in_doubt(each) and each.status is OperationStatus.UNKNOWN for each in operations)
        if not doubt or run.state is RunState.WAITING:  # parked with its doubt, it stays so
            wake(tx, run.run_id)


def cancelling(snapshot: Snapshot, run_id: str, by: str | None, reason: str) -> AskToCancel:
    """The verb that cancels a run, and all that it has begun and that has not ended."""
    begun: list[str] = []
    looked_at = [run_id]
    while looked_at:
        parent = looked_at.pop()
        found = [run for run in snapshot.find(RunRecord, "parent_run_id", parent) if run.run_id not in begun]
        begun += [run.run_id for run in found if not run.state.ended]
        looked_at += [run.run_id for run in found if not run.state.ended]
    return AskToCancel(run_id, by, reason, tuple(begun))


async def children_ended(execution: Execution) -> None:
    """Of a cancelled run: every run that it has begun is asked to cancel, and waited for. One that stands still before its end,
    because something of it is in doubt, parks this one with the end that it heads for (design rule 15)."""
    run_id = execution.run.run_id
    while True:
        seen = execution.journal.seen
        with execution.opened.read() as reader:
            going_on = [run for run in reader.find(RunRecord, "parent_run_id", run_id) if not run.state.ended]
            verbs = [cancelling(reader, run.run_id, None, "") for run in going_on if not run.cancel_asked]
        stands = next((run for run in going_on if _stands_still(run)), None)
        execution.demands.note("children", None if stands is None else _demand(stands))
        if not going_on:
            return
        for verb in verbs:
            with suppress(Refused):  # it has ended meanwhile
                await execution.owned(execution.write(verb))
        if not verbs:
            first, now = going_on[0], execution.opened.clock.now_us()
            # It tells when it ends or stands still; whatever moves it by its deadline is looked at after that.
            due = max(now, *(run.deadline_at or now for run in going_on)) + LOOK_AGAIN_US
            sentence = f"waits until run-{first.number} ({first.workflow}) has ended, which it had begun"
            await execution.wait(Wait("child", first.run_id, now, due, None, sentence), seen=seen)


def _stands_still(run: RunRecord) -> bool:
    return run.state is RunState.PARKED and run.reason not in BUDGET_REASONS


def _demand(child: RunRecord) -> Demand:
    detail = f"That is run-{child.number} ({child.workflow}), which this run had begun: it ends after that one."
    within = parsed(child.budget)["owner"]["within_us"]
    owner = {"name": child.owner, "then": child.owner_then, "within_us": within}
    return Demand(ParkReason(child.reason or ParkReason.OUTCOME_UNKNOWN), detail, owner)
