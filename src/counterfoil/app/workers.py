"""The noun `workers`: the processes that drive runs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.finding import known_id
from counterfoil.app.views.worker import worker_view
from counterfoil.engine.opened import Opened
from counterfoil.engine.quieting import QuietWorker
from counterfoil.model.errors import Refused
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.run import RunRecord


class Workers:
    """`app.workers`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [WORKER], next_cursor: None}`, the newest first.

        WORKER: {worker_id, host, pid, versions, queues, started_at, seen_at, draining, quiet, stopped_at, gone, alive, holds}.
        `gone`: dead for certain, its lock is free. `alive`: seen within a lease and not gone. `holds`: runs it drives.
        """
        opened = self._opened()
        with opened.read() as reader:
            found = reader.lists.workers()
            driven = Counter(
                run.worker_id for run in reader.find(RunRecord, "worker_id", *(w.worker_id for w in found))
            )
        return {"items": [worker_view(opened, w, driven[w.worker_id]) for w in found], "next_cursor": None}

    async def quiet(self, worker: str, *, by: Actor | str, reason: str) -> dict[str, Any]:
        """It takes up nothing more and hands over what it drives. As any stop it takes a name and no secret. WORKER.

        Raises Refused(not_found, not_permitted, worker_stopped, usage).
        """
        if not reason.strip():
            raise Refused("usage", problem="name the reason")
        return await self._change(worker, name_of(by), reason, quiet=True)

    async def wake(self, worker: str, *, by: Actor | str, secret: str = "", reason: str = "") -> dict[str, Any]:
        """It takes up runs again. WORKER. Raises Refused(not_found, not_permitted, worker_stopped, wrong_secret)."""
        with self._opened().read() as reader:
            person = proven(reader, by, secret)
        return await self._change(worker, person, reason, quiet=False)

    async def _change(self, worker: str, person: str, reason: str, *, quiet: bool) -> dict[str, Any]:
        opened = self._opened()
        with opened.read() as reader:
            worker_id = known_id(reader, "worker", worker)
        changed: WorkerRecord = await opened.write(
            QuietWorker(opened.installation_id, worker_id, quiet, person, reason)
        )
        return worker_view(opened, changed, 0)
