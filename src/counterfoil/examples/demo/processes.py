"""The demo's child processes: each command is typed as a user would type it, and one of them is killed at a boundary."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterfoil.model.errors import CounterfoilError

# As the installed command, but by this interpreter, wherever its scripts lie.
COMMAND = (sys.executable, "-c", "from counterfoil.cli.main import run; run()")
STOP_WITHIN_S = 20.0
COMMAND_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended. `status` below zero is a signal; `document` is what it answered, None when it was killed."""

    pid: int
    status: int
    document: dict[str, Any] | None

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL

    @property
    def data(self) -> dict[str, Any]:
        """What a command answered that was not refused. Raises CounterfoilError(defect) otherwise."""
        if self.document is None or not self.document["ok"]:
            said = self.document["error"]["message"] if self.document else f"it ended with status {self.status}"
            raise CounterfoilError("defect", problem=f"A command of the demo failed: {said}")
        return self.document["data"]


@dataclass(slots=True)
class Crash:
    """Which boundary kills the first process that reaches it; `pid` once it has."""

    boundary: str | None
    pid: int | None = None
    recovery_pid: int | None = None

    @property
    def armed(self) -> bool:
        return self.boundary is not None and self.pid is None

    def environment(self) -> dict[str, str]:
        return {"COUNTERFOIL_CRASH_AT": self.boundary} if self.armed and self.boundary is not None else {}

    def note(self, pid: int, status: int) -> bool:
        """Whether this end was the crash. Another process may have been on its way to the same boundary."""
        if self.boundary is None or status != -signal.SIGKILL:
            return False
        self.pid = pid if self.pid is None else self.pid
        return True


@dataclass(slots=True)
class Commands:
    """Runs commands of the command line on one database. Everything they say goes to the log, too."""

    folder: Path
    db: Path
    environment: Mapping[str, str]
    log: Path
    crash: Crash = field(default_factory=lambda: Crash(None))

    async def run(self, *words: str) -> Ended:
        """One command to its end. A crash is noted, never raised."""
        process = await self._start(words, asyncio.subprocess.PIPE)
        async with asyncio.timeout(COMMAND_WITHIN_S):
            out, _ = await process.communicate()
        status = process.returncode or 0
        self.crash.note(process.pid, status)
        self._say(f"# {process.pid} ended with {status}\n{out.decode()}")
        document = json.loads(out) if out.strip() else None
        return Ended(process.pid, status, document)

    async def worker(self) -> asyncio.subprocess.Process:
        """A worker that runs until it is stopped, or killed."""
        return await self._start(("worker",), asyncio.subprocess.DEVNULL)

    async def stop(self, worker: asyncio.subprocess.Process) -> None:
        """Let a worker drain. A crash on the way is noted."""
        if worker.returncode is None:
            worker.terminate()
            try:
                async with asyncio.timeout(STOP_WITHIN_S):
                    await worker.wait()
            except TimeoutError:
                worker.kill()
                await worker.wait()
        self.crash.note(worker.pid, worker.returncode or 0)

    async def _start(self, words: tuple[str, ...], out: int) -> asyncio.subprocess.Process:
        arguments = [*words, "--db", str(self.db), "--json"]
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *COMMAND,
                *arguments,
                cwd=self.folder,
                env={**self.environment, **self.crash.environment()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,  # Ctrl-C goes to the demo, which stops what it started
            )
        self._say(f"$ counterfoil {shlex.join(arguments)}  # {process.pid}\n")
        if self.crash.pid is not None and self.crash.recovery_pid is None:
            self.crash.recovery_pid = process.pid
        return process

    def _say(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)
