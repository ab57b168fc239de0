"""The systems side by side: where each keeps its steps, how its workers are started, how work is given to it."""

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any, LiteralString, Protocol

import psycopg
from dbos import DBOSClient
from temporalio.client import Client, WorkflowHandle

from benchmarks.scale.programs import on_counterfoil, on_dbos, on_temporal
from benchmarks.scale.programs.on_counterfoil import Named
from benchmarks.workload import PERSON, SECRET
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson

LOOK_SECONDS = 0.01
PROGRAMS = "benchmarks.scale.programs"


class System(Protocol):
    """`command` and `environ` start a worker. `name` says the system and what it keeps its steps in."""

    @property
    def name(self) -> str: ...

    @property
    def command(self) -> list[str]: ...

    @property
    def environ(self) -> dict[str, str]: ...

    def submit(self, names: Sequence[str], steps: int) -> None:
        """Returns when all of them are durably accepted."""
        ...

    def all_done(self, names: Sequence[str], steps: int) -> None:
        """Submit them, and return when all have completed."""
        ...


class Counterfoil:
    """Ours, over one file or one PostgreSQL."""

    def __init__(self, db: str, state: Path, *, lease_seconds: int = 30) -> None:
        self.db = db
        self.name = "counterfoil on PostgreSQL" if db.startswith("postgres") else "counterfoil on SQLite"
        self.command = [f"{PROGRAMS}.on_counterfoil", db]
        self.environ = {"COUNTERFOIL_STATE": str(state), "COUNTERFOIL_LEASE_SECONDS": str(lease_seconds)}
        os.environ |= self.environ  # this process is the one that submits
        self.app = on_counterfoil.application(db)
        self.app.open(Founding(people=(NewPerson(PERSON, (PERSON,), hashed(SECRET, "00")),)))

    def submit(self, names: Sequence[str], steps: int) -> None:
        self.submit_to("reference", names, steps)

    def submit_to(self, workflow: str, names: Sequence[str], steps: int) -> None:
        """To one of the two workflows."""
        newest = self.app.registry.newest(workflow)

        async def every() -> None:
            await asyncio.gather(*(self.app.submit(newest, Named(name=n, steps=steps), request_id=n) for n in names))

        asyncio.run(every())

    def all_done(self, names: Sequence[str], steps: int) -> None:
        _counted(self, self._completed, names, steps)

    def _completed(self) -> int:
        count = "SELECT count(*) FROM runs WHERE state = 'completed'"
        if self.name.endswith("PostgreSQL"):
            return _asked(self.db, count)
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as connection:
            return int(connection.execute(count).fetchone()[0])


class Dbos:
    """DBOS on its queue, in PostgreSQL. Its workers look at the queue every `poll_seconds`; its own default is a second."""

    name = "DBOS on PostgreSQL"

    def __init__(self, url: str, *, poll_seconds: float = 1.0) -> None:
        self.url = url
        self.command = [f"{PROGRAMS}.on_dbos", url, str(poll_seconds)]
        self.environ: dict[str, str] = {}
        self._client: DBOSClient | None = None

    def submit(self, names: Sequence[str], steps: int) -> None:
        # Its first worker makes the tables, so the client comes later than that.
        self._client = self._client or DBOSClient(system_database_url=self.url)
        for name in names:
            self._client.enqueue(
                {
                    "workflow_name": on_dbos.WORKFLOW,
                    "queue_name": on_dbos.QUEUE,
                    "workflow_id": name,
                    "app_version": on_dbos.VERSION,
                },
                name,
                steps,
            )

    def all_done(self, names: Sequence[str], steps: int) -> None:
        _counted(self, self._completed, names, steps)

    def _completed(self) -> int:
        return _asked(self.url, "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'")


class Temporal:
    """Temporal's development server, with its history in a file."""

    name = "Temporal's dev server"

    def __init__(self, address: str) -> None:
        self.command = [f"{PROGRAMS}.on_temporal", address]
        self.environ: dict[str, str] = {}
        self._address = address

    def submit(self, names: Sequence[str], steps: int) -> None:
        asyncio.run(self._start(names, steps))

    def all_done(self, names: Sequence[str], steps: int) -> None:
        async def done() -> None:
            for handle in await self._start(names, steps):
                await handle.result()

        asyncio.run(done())

    async def _start(self, names: Sequence[str], steps: int) -> list[WorkflowHandle[Any, Any]]:
        client = await Client.connect(self._address)
        return await asyncio.gather(
            *(
                client.start_workflow("reference", args=[name, steps], id=name, task_queue=on_temporal.QUEUE)
                for name in names
            )
        )


@contextmanager
def temporal_server(folder: Path) -> Iterator[str]:
    """The development server from its wheel, on the loopback address. Gives host and port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    command = [Path(sys.executable).parent / "temporal", "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
    command += ["--port", str(port), "--db-filename", str(folder / "temporal.db"), "--log-level", "error"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=folder)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if b"Server:" in line:
                break
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _counted(system: System, completed: Callable[[], int], names: Sequence[str], steps: int) -> None:
    """Submit them, and look until so many more have completed."""
    wanted = completed() + len(names)
    system.submit(names, steps)
    while completed() < wanted:
        sleep(LOOK_SECONDS)


def _asked(url: str, statement: LiteralString) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(statement).fetchone()
    assert found is not None
    return int(found[0])
