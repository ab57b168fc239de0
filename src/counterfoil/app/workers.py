"""The noun `workers`: the processes that drive runs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from counterfoil.app.views.worker import worker_view
from counterfoil.engine.opened import Opened
from counterfoil.model.run import RunRecord


class Workers:
    """`app.workers`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [WORKER], next_cursor: None}`, the newest first.

        WORKER: {worker_id, host, pid, versions, started_at, seen_at, draining, quiet, stopped_at, gone, alive, holds}.
        `gone`: dead for certain, its lock is free. `alive`: seen within a lease and not gone. `holds`: runs it drives.
        """
        opened = self._opened()
        with opened.read() as reader:
            found = reader.lists.workers()
            driven = Counter(
                run.worker_id for run in reader.find(RunRecord, "worker_id", *(w.worker_id for w in found))
            )
        return {"items": [worker_view(opened, w, driven[w.worker_id]) for w in found], "next_cursor": None}
