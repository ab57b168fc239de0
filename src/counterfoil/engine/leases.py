"""The time-bounded right to drive a run: claims are compare-and-set, and the fence alone refuses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.parking import parked
from counterfoil.engine.slots import Pool, full, hold, pool_reads, release, take
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.engine.waking import held_back, waited, wake
from counterfoil.model.codec import parsed
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import PARK_SENTENCES, RUN_SENTENCES, ParkReason, RunRecord, RunState
from counterfoil.store.port import Read
from counterfoil.store.records import changed
from counterfoil.store.transaction import Transaction

_OVER_BY_ITSELF = (ParkReason.NO_WORKER, ParkReason.CODE_CHANGED, ParkReason.CLOCK_JUMP)
HEARTBEAT_US = 5_000_000  # how often a worker shows that it lives
ALONE = 2  # runs.executing: 0 no, 1 beside others, 2 alone
INCARNATION_SHIFT = (
    40  # the incarnation is the high part of every fence: no fence from before a restore is ever reached again
)


@dataclass(frozen=True, slots=True)
class Claim(RunVerb):
    """Gives the claimed run, or None when another was first or nothing is due.

    `holder` is who held it when this was asked for. Of a holder whose lease ended it is read when its heartbeat was missed,
    and what was in flight is in doubt since then; without it nobody knows better than that the lease ended.
    """

    worker_id: str
    deadlines: Deadlines
    alone: bool = False  # nothing else executes in this process: a crash is this run's own
    holder: str | None = None
    pools: tuple[Pool, ...] = ()  # in which it must find room
    held_for: str | None = None  # it was held for this pool, and there may be room now
    generation: int = 0  # of whoever goes on elsewhere; it never goes back
    boundary: ClassVar[str] = "run.claimed"

    def may(self, run: RunRecord, now: int) -> bool:
        """Whether it may be claimed now."""
        return _claimable(run, now, self.held_for)

    def reads(self) -> Sequence[Read]:
        run = (Read.key(RunRecord, self.run_id), *pool_reads(self.pools))
        if self.holder is None:
            return run
        return (*run, Read.key(WorkerRecord, self.holder), Read.by(OperationRecord, "run_id", self.run_id))

    def decide(self, tx: Transaction) -> RunRecord | None:
        run = tx.must(RunRecord, self.run_id)
        if not self.may(run, tx.now):
            return None
        crashed = run.state is RunState.RUNNING and run.executing
        if died_alone(run):
            _poisoned(tx, run)
            return None
        without_room = full(tx, run, self.pools)
        if without_room is not None:
            hold(tx, run, without_room)
            return None
        claimed = changed(
            waited(run, tx.now),
            state=RunState.RUNNING,
            reason=None,
            sentence=RUN_SENTENCES[RunState.RUNNING],
            fence=max(run.fence, tx.installation.incarnation << INCARNATION_SHIFT) + 1,
            worker_id=self.worker_id,
            lease_until=tx.now + self.deadlines.lease,
            due_at=tx.now + self.deadlines.lease,
            executing=ALONE if self.alone else 1,
            deadline_at=tx.now + self.deadlines.running,
            started_at=run.started_at or tx.now,
            crashes=run.crashes + (1 if crashed else 0),
            held_for=None,
            slots=take(tx, run, self.pools),
            generation=max(run.generation, self.generation),
        )
        tx.put(claimed)
        missed = self._missed(tx, run) if run.state is RunState.RUNNING else None
        tx.append(
            self.run_id,
            EntryKind.STARTED,
            data={
                "worker": self.worker_id,
                "fence": claimed.fence,
                "after_crash": bool(crashed),
                "from": run.state.value,
            }
            | ({} if missed is None else {"missed_at": missed}),
        )
        return tx.must(RunRecord, self.run_id)

    def _missed(self, tx: Transaction, run: RunRecord) -> int:
        """When the first heartbeat was missed, at the latest when the lease ended. What was in flight is in doubt from there."""
        missed = min(run.lease_until or tx.now, tx.now)
        if self.holder is None or self.holder != run.worker_id:
            return missed
        for operation in tx.find(OperationRecord, "run_id", self.run_id):
            if operation.status is OperationStatus.IN_FLIGHT and operation.doubt_at is None:
                tx.put(replace(operation, doubt_at=missed))
        worker = tx.get(WorkerRecord, self.holder)
        return missed if worker is None else min(missed, worker.seen_at + HEARTBEAT_US)


@dataclass(frozen=True, slots=True)
class ClaimForCall(Claim):
    """The same for one call of a run whose function is executed elsewhere: that side says when, so nothing needs to be due.

    What is parked stays so, except where only code was lacking.
    """

    def may(self, run: RunRecord, now: int) -> bool:
        if run.state is RunState.PARKED:
            return run.reason == ParkReason.NO_WORKER
        return run.state in (RunState.PENDING, RunState.WAITING) or _claimable(run, now)


@dataclass(frozen=True, slots=True)
class TakeRelay(RunVerb):
    """Whoever gets True tells the side that executes the run's function to look. It is due again if that changes nothing."""

    seen: int  # its `due_at`, as it was found
    again: int
    boundary: ClassVar[str] = "lease.renewed"

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id)
        if run.due_at != self.seen or run.state not in (RunState.PENDING, RunState.WAITING):
            return False
        tx.put(replace(run, due_at=tx.now + self.again))
        return True


@dataclass(frozen=True, slots=True)
class DiedAlone(RunVerb):
    """Park a run that brought down the process in which it ran alone, without claiming it. Gives whether it did."""

    boundary: ClassVar[str] = "run.parked"
    ends: ClassVar[bool] = True

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id)
        if not died_alone(run) or not _claimable(run, tx.now):
            return False
        _poisoned(tx, run)
        return True


def died_alone(run: RunRecord) -> bool:
    """Of a claimable run: whoever drove it is gone, and nothing executed beside it."""
    return run.state is RunState.RUNNING and run.executing == ALONE


def _poisoned(tx: Transaction, run: RunRecord) -> None:
    owner = parsed(run.budget)["owner"]
    release(tx, run)
    tx.put(parked(run, ParkReason.POISONED, PARK_SENTENCES[ParkReason.POISONED], owner, tx.now, None, None))
    tx.append(
        run.run_id,
        EntryKind.PARKED,
        name=ParkReason.POISONED.value,
        data={"owner": owner["name"], "crashes": run.crashes + 1},
    )


def _claimable(run: RunRecord, now: int, held_for: str | None = None) -> bool:
    if run.state in (RunState.PENDING, RunState.WAITING):
        due = run.due_at is not None and run.due_at <= now
        return (due or (held_for is not None and run.held_for == held_for)) and not held_back(run)
    return run.state is RunState.RUNNING and (run.lease_until or 0) <= now


@dataclass(frozen=True, slots=True)
class StopIsOver(RunVerb):
    """What a parked run lacked is there again: code for it, or clocks that agree. Gives True when it was waiting for that."""

    boundary: ClassVar[str] = "run.resumed"

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id)
        if run.state is not RunState.PARKED or run.reason not in _OVER_BY_ITSELF:
            return False
        reason = run.reason
        wake(tx, self.run_id)
        tx.append(self.run_id, EntryKind.RESUMED, data={"by": None, "retry": False, "raises": {}, "from": reason})
        return True


@dataclass(frozen=True, slots=True)
class Renew(RunVerb):
    """Prolong the lease of a run that works without a new entry. Raises Refused(fence_lost)."""

    fence: int
    deadlines: Deadlines
    boundary: ClassVar[str] = "lease.renewed"

    def decide(self, tx: Transaction) -> None:
        run = driven(tx, self.run_id, self.fence)
        tx.put(replace(run, lease_until=tx.now + self.deadlines.lease, due_at=tx.now + self.deadlines.lease))


@dataclass(frozen=True, slots=True)
class HolderGone(RunVerb):
    """Whoever drove it does so no more: its process lock is free on its own host, or it says so itself. The lease ends now."""

    worker_id: str
    fence: int
    boundary: ClassVar[str] = "lease.renewed"

    def decide(self, tx: Transaction) -> bool:
        run = tx.must(RunRecord, self.run_id)
        if run.state is not RunState.RUNNING or run.fence != self.fence or run.worker_id != self.worker_id:
            return False
        tx.put(replace(run, lease_until=tx.now, due_at=tx.now))
        return True


@dataclass(frozen=True, slots=True)
class HandOver(RunVerb):
    """A draining worker gives a run back, to be taken up at once."""

    fence: int
    deadlines: Deadlines
    boundary: ClassVar[str] = "run.waiting"

    def decide(self, tx: Transaction) -> None:
        run = driven(tx, self.run_id, self.fence)
        release(tx, run)
        tx.put(
            replace(
                run,
                state=RunState.PENDING,
                sentence=RUN_SENTENCES[RunState.PENDING],
                executing=0,
                worker_id=None,
                lease_until=None,
                due_at=tx.now,
                deadline_at=tx.now + self.deadlines.pending,
            )
        )
        tx.append(self.run_id, EntryKind.SUSPENDED, data={"handed_over": True, "waits": []})


def touched(run: RunRecord, now: int, deadlines: Deadlines) -> RunRecord:
    """The run with its lease and its progress deadline moved on by an entry, or the very run where that can wait.

    Each move costs a row and two indexes, so the lease moves once a third of it is gone, as `Renew` does; `deadline_at`
    of a running run is evidence besides, so it moves in steps of a tenth.
    """
    fresh = now + deadlines.running
    deadline = run.deadline_at or 0
    if fresh - deadline > deadlines.running // 10:
        deadline = fresh
    elif (run.lease_until or 0) - now > deadlines.lease - deadlines.lease // 3:
        return run
    until = now + deadlines.lease
    return changed(run, lease_until=until, due_at=until, deadline_at=deadline)
