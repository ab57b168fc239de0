"""Workers that are dead for certain on this host: nobody waits for their leases."""

from counterfoil.engine.administration import WorkerStopped
from counterfoil.engine.leases import HolderGone
from counterfoil.engine.locks import holder_is_gone
from counterfoil.engine.opened import Opened
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.run import RunRecord, RunState


async def notice_the_dead(opened: Opened, worker_id: str) -> None:
    """Whose lock is free is dead: its leases end now. `worker_id` is who looks: it lives."""
    with opened.read() as reader:
        others = [w for w in reader.rows(WorkerRecord) if w.stopped_at is None and w.worker_id != worker_id]
    for other in others:
        if holder_is_gone(opened.locks, other):
            await _take_over(opened, other)


async def _take_over(opened: Opened, dead: WorkerRecord) -> None:
    with opened.read() as reader:
        held = [r for r in reader.find(RunRecord, "worker_id", dead.worker_id) if r.state is RunState.RUNNING]
    for run in held:
        await opened.write(HolderGone(run.run_id, dead.worker_id, run.fence))
    await opened.write(WorkerStopped(dead.worker_id))
