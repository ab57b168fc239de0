"""Tells whoever follows a run that something was committed: by this process at once, by another one after a short while."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager

from counterfoil.app import App

POLL_US = 250_000  # how often another process's commits are looked for


class Changes:
    """One per console."""

    def __init__(self, app: App) -> None:
        self._app = app

    @asynccontextmanager
    async def of_run(self, run_id: str) -> AsyncGenerator["Following"]:
        """Follow one run while the block is open."""
        async with self._following(lambda touched: run_id in touched) as following:
            yield following

    @asynccontextmanager
    async def of_any(self) -> AsyncGenerator["Following"]:
        """Follow everything, for lists."""
        async with self._following(lambda touched: True) as following:
            yield following

    @asynccontextmanager
    async def _following(self, concerns: Callable[[Mapping[str, bool]], bool]) -> AsyncGenerator["Following"]:
        opened = self._app.open()
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def committed(touched: Mapping[str, bool]) -> None:
            if concerns(touched):
                loop.call_soon_threadsafe(changed.set)

        def told() -> None:
            loop.call_soon_threadsafe(changed.set)

        opened.listeners.add(committed)
        unheard = opened.database.hear(told)
        try:
            yield Following(self._app, changed)
        finally:
            unheard()
            opened.listeners.discard(committed)


class Following:
    """Made by `Changes`."""

    def __init__(self, app: App, changed: asyncio.Event) -> None:
        self._opened = app.open()
        self._changed = self.arrived = changed  # who waits is also woken by whoever sets it
        self._version = self._opened.database.data_version()

    async def wait(self, closing: asyncio.Event, until_us: int) -> bool:
        """Wait until something may have changed, the console closes, or that wall time. True when something may have."""
        clock = self._opened.clock
        while not closing.is_set():
            version = self._opened.database.data_version()
            if self._changed.is_set() or version != self._version:
                self._changed.clear()
                self._version = version
                return True
            now = clock.now_us()
            if now >= until_us:
                return False
            await clock.wait(self._changed, min(until_us, now + POLL_US))
        return False
