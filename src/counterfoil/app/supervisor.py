"""Several worker processes as one: told together, and one that died is started again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from counterfoil.app.worker_process import WorkerProcess
from counterfoil.engine.clock import MICROSECONDS, Clock
from counterfoil.engine.problem_log import log

LEAVE_S = 75.0  # a worker drains within 30 s, and then its suspect within 35 s
FIRST_PAUSE_US = MICROSECONDS // 2
LONGEST_PAUSE_US = 30 * MICROSECONDS
LIVED_US = 60 * MICROSECONDS  # one that lived so long died of something new: its pause is the first one again


class Supervisor:
    """Keeps `count` processes that `start` gives. One that answered has ended in order, and is not started again.

    What lives `leave_s` after `stop` is killed: it hangs, is frozen, or does not hear.
    """

    def __init__(
        self, start: Callable[[], Awaitable[WorkerProcess]], count: int, clock: Clock, leave_s: float = LEAVE_S
    ) -> None:
        self.answers: list[dict[str, Any]] = []
        self._start = start
        self._count = count
        self._clock = clock
        self._leave_s = leave_s
        self._living: set[WorkerProcess] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Until all have ended. `answers` has what each of them said."""
        keeping = asyncio.gather(*(self._keep() for _ in range(self._count)))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait((keeping, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        _, hanging = await asyncio.wait((keeping,), timeout=self._leave_s)
        if hanging:
            log.error("worker processes that did not end within %s s are killed", self._leave_s)
            self.stop()
        await keeping

    def stop(self) -> None:
        """All of them drain. A second call kills those that still live: the runs that they execute have crashed then."""
        hurry = self._stopping.is_set()
        self._stopping.set()
        for process in self._living:
            with suppress(ProcessLookupError):
                process.kill() if hurry else process.terminate()

    async def _keep(self) -> None:
        pause = FIRST_PAUSE_US
        while not self._stopping.is_set():
            began = self._clock.boot_us()
            if await self._lived():
                return
            if self._clock.boot_us() - began >= LIVED_US:
                pause = FIRST_PAUSE_US
            await self._clock.wait(self._stopping, self._clock.now_us() + pause)
            pause = min(2 * pause, LONGEST_PAUSE_US)

    async def _lived(self) -> bool:
        """One process from its start to its end. True when it ended in order."""
        try:
            process = await self._start()
        except OSError as problem:
            log.error("a worker process could not be started: %s", problem)
            return False
        self._living.add(process)
        if self._stopping.is_set():
            with suppress(ProcessLookupError):
                process.terminate()
        status = await process.wait()
        self._living.discard(process)
        if process.answer is None:
            log.error("worker process %s ended with %s", process.pid, status)
            return False
        self.answers.append(process.answer)
        return True
