"""WORKER: a process that drives runs."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.locks import holder_is_gone
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.installation import WorkerRecord


def state_of(worker: dict[str, Any]) -> str:
    """In one word, of a WORKER. stopped, gone, silent, draining, quiet or alive: the first that holds."""
    if worker["stopped_at"] is not None:
        return "stopped"
    if worker["gone"]:
        return "gone"
    if not worker["alive"]:
        return "silent"
    return "draining" if worker["draining"] else "quiet" if worker["quiet"] else "alive"


def worker_view(opened: Opened, worker: WorkerRecord, holds: int) -> dict[str, Any]:
    """`gone` is certain; `alive` is what its last heartbeat says; `holds` counts the runs it drives."""
    gone = worker.stopped_at is not None or holder_is_gone(opened.locks, worker)
    silent_us = opened.clock.now_us() - worker.seen_at
    return {
        "worker_id": worker.worker_id, "host": worker.host, "pid": worker.pid, "versions": parsed(worker.versions),
        "queues": None if worker.queues is None else parsed(worker.queues),
        "started_at": rfc3339(worker.started_at), "seen_at": rfc3339(worker.seen_at), "draining": bool(worker.draining),
        "quiet": bool(worker.quiet), "stopped_at": rfc3339(worker.stopped_at), "gone": gone,
        "alive": not gone and silent_us <= opened.deadlines.lease, "holds": holds,
    }  # fmt: skip
