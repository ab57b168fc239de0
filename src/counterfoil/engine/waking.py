"""Wake a run: somebody outside moved something of it."""

from dataclasses import replace

from counterfoil.model.run import RUN_SENTENCES, RunRecord, RunState
from counterfoil.store.transaction import Transaction

PENDING_US = 15 * 60 * 1_000_000


def wake(tx: Transaction, run_id: str) -> None:
    """Somebody outside moved something of this run: a worker looks at it at once. The run keeps its end, if it heads for one."""
    run = tx.must(RunRecord, run_id)
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
    elif run.state in (RunState.WAITING, RunState.PENDING):
        tx.put(replace(run, due_at=tx.now))
