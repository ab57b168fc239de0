"""Suspects in a process of their own: one that brings its process down takes no other run with it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from counterfoil.engine.problem_log import log

LEAVE_S = 35.0  # a worker drains within 30 s; what hangs longer than that is killed


class Process(Protocol):
    """A child process, as asyncio gives it. `wait` gives its exit status, below zero for a signal."""

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


Isolate = Callable[[str], Awaitable[Process]]
"""Starts a process that is a worker for this run alone, and ends when the run leaves it. Raises OSError."""


class Isolation:
    """At most one child process at a time. `ended` hears of a run how its process ended; None: it could not be started."""

    def __init__(
        self, isolate: Isolate, ended: Callable[[str, int | None], Awaitable[None]], wake: Callable[[], None]
    ) -> None:
        self._isolate = isolate
        self._ended = ended
        self._wake = wake
        self._process: Process | None = None
        self._part: asyncio.Task[None] | None = None
        self._leaving = False

    @property
    def busy(self) -> bool:
        return self._part is not None

    def start(self, run_id: str) -> None:
        """Drive this run in a child. Only while not busy."""
        self._part = asyncio.create_task(self._watch(run_id))

    def leave(self) -> None:
        """Tell the child to hand its run over, now and whenever one has come up: this worker ends."""
        self._leaving = True
        self.hand_over()

    def hand_over(self) -> None:
        """Tell the child that is there to hand its run over."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def left(self) -> None:
        """Wait until the child has ended, in bounded time."""
        part = self._part
        if part is None:
            return
        await asyncio.wait([part], timeout=LEAVE_S)
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await asyncio.wait([part], timeout=LEAVE_S)

    async def _watch(self, run_id: str) -> None:
        try:
            await self._ended(run_id, await self._status(run_id))
        finally:
            self._part = None
            self._wake()

    async def _status(self, run_id: str) -> int | None:
        try:
            self._process = await self._isolate(run_id)
        except OSError as problem:
            log.error("run %s waits: no process of its own could be started: %s", run_id, problem)
            return None
        try:
            if self._leaving:
                self.hand_over()
            return await self._process.wait()
        finally:
            self._process = None
