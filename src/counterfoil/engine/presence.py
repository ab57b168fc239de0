"""How others see that somebody drives runs here: a row in the table of workers, and a process lock of the same name."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from counterfoil.engine.administration import RegisterWorker, WorkerStopped
from counterfoil.engine.clock import boot_id, host_name, process_id
from counterfoil.engine.locks import ProcessLock
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import CounterfoilError


class Presence:
    """Of one worker, or of all that one opening drives for its callers."""

    def __init__(self, opened: Opened) -> None:
        self.worker_id = f"wrk_{opened.chance.hex(80)}"
        self._opened = opened
        self._lock: ProcessLock | None = None

    def begin(self, versions: Mapping[str, Any], queues: tuple[str, ...] | None) -> RegisterWorker:
        """Take the lock. Gives the verb that makes the row, to be written before anything is driven."""
        self._lock = ProcessLock(self._opened.locks, self.worker_id)
        return RegisterWorker(self.worker_id, host_name(), boot_id(), process_id(), versions, queues)

    def end(self) -> None:
        """Free the lock, behind the last attempt that is under way: until then its sender is not gone."""
        lock, self._lock = self._lock, None
        if lock is not None:
            self._opened.under_way.behind_the_last(self.worker_id, lock.release)


def shared(opened: Opened) -> Presence:
    """For an opening that drives runs for its callers: one row and one lock, however many there are."""
    presence = Presence(opened)
    opened.writer.ask(presence.begin({}, None))
    return presence


def leave(opened: Opened, presence: Presence) -> None:
    """Its opening is closed."""
    with suppress(CounterfoilError):
        opened.writer.ask(WorkerStopped(presence.worker_id))
    presence.end()
