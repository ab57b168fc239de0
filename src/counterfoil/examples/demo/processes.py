"""The demo's child processes: each command is typed as a user would type it, and one of them is killed at a boundary."""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from counterfoil.app.located import InFile, OnServer
from counterfoil.model.errors import CounterfoilError

COMMAND_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0
KILLED = -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended. `status` below zero is a signal; `document` is what it answered, None when it was killed."""

    pid: int
    status: int
    document: dict[str, Any] | None

    @property
    def killed(self) -> bool:
        """By SIGKILL: the demo sends none itself to a command."""
        return self.status == KILLED

    @property
    def data(self) -> dict[str, Any]:
        """What a command answered that was not refused. Raises CounterfoilError(defect) otherwise."""
        if self.document is None or not self.document["ok"]:
            said = self.document["error"]["message"] if self.document else f"it ended with status {self.status}"
            raise CounterfoilError("defect", problem=f"A command of the demo failed: {said}")
        return self.document["data"]


@dataclass(slots=True)
class Crash:
    """Which boundary kills the first process that reaches it; `pid` once it has, then `recovery_pid` of the next one."""

    boundary: str | None = None
    pid: int | None = None
    recovery_pid: int | None = None

    @property
    def armed(self) -> bool:
        """Nobody was killed yet."""
        return self.boundary is not None and self.pid is None

    def environment(self) -> dict[str, str]:
        """What makes a process kill itself there."""
        return {"COUNTERFOIL_CRASH_AT": self.boundary} if self.armed and self.boundary is not None else {}

    def note(self, pid: int, status: int) -> bool:
        """Whether this end was the crash. Another process may have been on its way to the same boundary."""
        if self.boundary is None or status != KILLED:
            return False
        self.pid = pid if self.pid is None else self.pid
        return True


@dataclass(slots=True)
class Child:
    """A process that was started. `ended` holds its status once it is gone."""

    pid: int
    ended: asyncio.Future[int]

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return self.ended.done()


class WarmProcess:
    """Starts children from one process that has imported everything (warm.py)."""

    def __init__(self, app: str, errors: Path) -> None:
        self._app = app
        self._errors = errors
        self._process: asyncio.subprocess.Process | None = None
        self._starting: list[asyncio.Future[Child]] = []
        self._children: dict[int, Child] = {}
        self._reader: asyncio.Task[None] | None = None
        self.numbers = count(1)

    async def __aenter__(self) -> Self:
        with self._errors.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "counterfoil.examples.demo.warm", self._app),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C goes to the demo, which ends what it started
            )
        self._reader = asyncio.create_task(self._read())
        return self

    async def child(self, request: dict[str, Any]) -> Child:
        """One command in a process of its own."""
        started: asyncio.Future[Child] = asyncio.get_running_loop().create_future()
        self._starting.append(started)
        self._send(request)
        return await started

    def signal(self, child: Child, number: signal.Signals) -> None:
        """Send a signal to a child that is still there."""
        self._send({"stop": child.pid, "signal": number.value})

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()
        if self._reader is not None:
            await self._reader

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None, "it was started"
        self._process.stdin.write(json.dumps(request).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None, "it was started"
        while line := await self._process.stdout.readline():
            said = json.loads(line)
            if "started" in said:
                child = Child(said["started"], asyncio.get_running_loop().create_future())
                self._children[child.pid] = child
                self._starting.pop(0).set_result(child)
            elif "ended" in said:
                self._children.pop(said["ended"]).ended.set_result(said["status"])
        for started in self._starting:
            started.set_exception(
                CounterfoilError("defect", problem="The demo's processes could not be started. See the log.")
            )
        for child in self._children.values():
            child.ended.set_result(KILLED)


@dataclass(slots=True)
class Commands:
    """Runs commands of the command line on one database. Everything they say goes to the log, too."""

    warm: WarmProcess
    folder: Path
    where: InFile | OnServer
    environment: Mapping[str, str]
    log: Path
    crash: Crash = field(default_factory=Crash)

    def of_story(self, environment: Mapping[str, str], crash: Crash) -> "Commands":
        """The same with more in the environment, and somebody to be killed."""
        return replace(self, environment={**self.environment, **environment}, crash=crash)

    async def run(self, *words: str) -> Ended:
        """One command to its end. A crash is noted, never raised."""
        out = self.folder / f".answer-{next(self.warm.numbers)}"
        child = await self._start(words, out)
        async with asyncio.timeout(COMMAND_WITHIN_S):
            status = await child.ended
        self.crash.note(child.pid, status)
        text = out.read_text()
        out.unlink()
        self._say(f"# {child.pid} ended with {status}\n{text}")
        return Ended(child.pid, status, json.loads(text) if text.strip() else None)

    async def worker(self) -> Child:
        """A worker that runs until it is stopped, or killed."""
        return await self._start(("worker",), Path(os.devnull))

    async def stop(self, worker: Child) -> None:
        """Let a worker drain. A crash on the way is noted."""
        self.warm.signal(worker, signal.SIGTERM)
        _, pending = await asyncio.wait([worker.ended], timeout=STOP_WITHIN_S)
        if pending:
            raise CounterfoilError("defect", problem=f"The worker {worker.pid} did not end within {STOP_WITHIN_S:g} s.")
        self.crash.note(worker.pid, worker.ended.result())

    async def _start(self, words: tuple[str, ...], out: Path) -> Child:
        db = self.where.address.given if isinstance(self.where, OnServer) else str(self.where.path)
        arguments, told = ([*words, "--db", each, "--json"] for each in (db, self.where.shown))
        environment = {**self.environment, **self.crash.environment()}
        request = {"argv": arguments, "cwd": str(self.folder), "environment": environment, "out": str(out)}
        child = await self.warm.child({**request, "err": str(self.log)})
        self._say(f"$ counterfoil {shlex.join(told)}  # {child.pid}\n")
        if self.crash.pid is not None and self.crash.recovery_pid is None:
            self.crash.recovery_pid = child.pid
        return child

    def _say(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)
