"""A worker process of the chat's own: started where nobody else drives this agent's turns, and again when it dies.

What it answers comes over a pipe as it is made. It drains when the chat ends, however the chat ends.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.app.driving import log_of
from counterfoil.app.relaying import relayed
from counterfoil.app.supervisor import Supervisor
from counterfoil.app.views.worker import state_of
from counterfoil.app.worker_process import WorkerProcess, WorkerProcesses

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.cli.invocation import Invocation


class Beside:
    """`wanted`: always or never; None: where no other worker drives this agent, and the database is a file of this host."""

    def __init__(self, invocation: "Invocation", app: "App", agent: str, wanted: bool | None) -> None:
        self._app, self._agent, self._wanted = app, agent, wanted
        self.log = log_of(invocation.located().beside)
        self._processes = WorkerProcesses(invocation.named() or "", app.db, Path.cwd(), self.log)
        self._supervisor: Supervisor | None = None
        self._running: asyncio.Future[None] | None = None

    def ensure(self) -> bool:
        """Start one if it is needed. Gives whether anybody drives. Raises Refused for what every worker would be refused for."""
        if self._running is not None and not self._running.done():
            return True
        others = self._others()
        if self._wanted is False or (self._wanted is None and (others or not self._local())):
            return others
        self._app.new_worker()
        self._supervisor = Supervisor(self._start, 1, self._app.clock)
        self._running = asyncio.ensure_future(self._supervisor.run())
        return True

    async def end(self) -> None:
        """Drain it, and wait for its end."""
        self.stop()
        if self._running is not None:
            await self._running

    def stop(self) -> None:
        """Drain it; called again, end it at once."""
        if self._supervisor is not None:
            self._supervisor.stop()

    async def _start(self) -> WorkerProcess:
        with relayed(self._app.open().partials) as pipe:
            return await self._processes.start(pieces=pipe)

    def _others(self) -> bool:
        newest = self._app.registry.newest(self._agent)
        return any(
            state_of(each) == "alive" and newest.version in each["versions"].get(newest.name, [])
            for each in self._app.workers.list()["items"]
        )

    def _local(self) -> bool:
        db = self._app.db or ""
        return "://" not in db or db.startswith("sqlite:")
