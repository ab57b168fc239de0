"""Turns that wait for one another: each is a run, and the next begins in the transaction that ends the one before."""

from dataclasses import replace

from counterfoil.engine.waking import PENDING_US
from counterfoil.model.conversation import TurnKind, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RUN_SENTENCES, RunRecord, RunState
from counterfoil.store.port import Read, Snapshot
from counterfoil.store.transaction import Transaction

QUEUED = "turn"  # the reason of a run that waits for the turn before it


def followers_of(run_id: str) -> Read:
    """What `release` looks at."""
    return Read.by(RunRecord, "after_run_id", run_id)


def release(tx: Transaction, ended: RunRecord) -> None:
    """`ended` has ended: whoever waited for it begins. Call it before the entry that says how it ended.

    A turn that ends while it is queued itself (cancelled, or read by the turn at work) leaves its place: who waited for it
    waits for what it waited for. `after_run_id` is set exactly while a turn before has not ended, also in a run that has.
    """
    for run in tx.find(RunRecord, "after_run_id", ended.run_id):
        if ended.after_run_id is not None or run.state.ended:
            tx.put(replace(run, after_run_id=ended.after_run_id))
            continue
        tx.put(
            replace(
                run,
                after_run_id=None,
                state=RunState.PENDING,
                reason=None,
                sentence=RUN_SENTENCES[RunState.PENDING],
                due_at=tx.now,
                deadline_at=tx.now + PENDING_US,
            )
        )
        tx.append(run.run_id, EntryKind.SIGNAL, name=QUEUED, data={"after": ended.run_id})


def queued(run: RunRecord, before: RunRecord, now: int, within_us: int) -> RunRecord:
    """A new run that begins when `before` has ended. Nothing is due until then; its owner sees it when that takes too long."""
    return replace(
        run,
        after_run_id=before.run_id,
        state=RunState.WAITING,
        reason=QUEUED,
        sentence=f"It waits for the turn before it (run-{before.number}) to end.",
        due_at=None,
        deadline_at=now + within_us,
    )


def turns_behind(run_id: str) -> Read:
    """What `refuse_followed` looks at."""
    return Read.by(TurnRecord, "prior_run_id", run_id)


def refuse_followed(tx: Transaction, run: RunRecord) -> None:
    """A turn that has ended is the history of those behind it, so it is not taken up again. Raises Refused(turn_followed)."""
    if run.state.ended and tx.find(TurnRecord, "prior_run_id", run.run_id):
        raise Refused("turn_followed", run_id=run.run_id)


def turns_before(snapshot: Snapshot, run_id: str) -> list[str]:
    """The runs whose messages are the history of this turn, oldest first; none for a run that is no turn. One look-up a turn.

    It goes back to a reset, or to a compaction, which says in short what was before it. What a turn read in its midst (a
    steer) is part of that turn.
    """
    found: list[str] = []
    turn = snapshot.get(TurnRecord, run_id)
    while turn is not None and turn.kind is not TurnKind.RESET and turn.prior_run_id is not None:
        turn = snapshot.get(TurnRecord, turn.prior_run_id)
        if turn is not None and turn.kind is not TurnKind.STEER:
            found.append(turn.run_id)
            if turn.kind is TurnKind.COMPACTION and _has_ended_well(snapshot, turn.run_id):
                break
    return found[::-1]


def _has_ended_well(snapshot: Snapshot, run_id: str) -> bool:
    """A compaction that was cancelled, or failed, stands for nothing: what was before it is read."""
    run = snapshot.get(RunRecord, run_id)
    return run is not None and run.state is RunState.COMPLETED
