"""Wake a run: somebody outside moved something of it."""

from dataclasses import replace

from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RUN_SENTENCES, RunRecord, RunState
from counterfoil.store.transaction import Transaction

PENDING_US = 15 * 60 * 1_000_000


def waited(run: RunRecord, now: int) -> RunRecord:
    """The wait for a person is over: it does not count as elapsed."""
    if run.waiting_since is None:
        return run
    return replace(run, waited_us=run.waited_us + max(0, now - run.waiting_since), waiting_since=None)


def wake(tx: Transaction, run_id: str) -> None:
    """Somebody outside moved something of this run: a worker looks at it at once. The run keeps its end, if it heads for one."""
    run = waited(tx.must(RunRecord, run_id), tx.now)
    if run.state is RunState.PARKED:
        tx.put(
            replace(
                run,
                state=RunState.PENDING,
                reason=None,
                sentence=RUN_SENTENCES[RunState.PENDING],
                due_at=tx.now,
                deadline_at=tx.now + PENDING_US,
            )
        )
    elif run.state in (RunState.WAITING, RunState.PENDING) and not held_back(run):
        tx.put(replace(run, due_at=tx.now))


def tell_parent(tx: Transaction, parent_run_id: str, child_run_id: str, state: RunState) -> None:
    """A child has ended, or stands still: its parent looks at it."""
    wake(tx, parent_run_id)
    tx.append(parent_run_id, EntryKind.SIGNAL, name="child", data={"child": child_run_id, "state": state.value})


def held_back(run: RunRecord) -> bool:
    """A queued turn is not claimed before the one before it has ended; to be cancelled it needs not wait."""
    return run.after_run_id is not None and not run.cancel_asked
