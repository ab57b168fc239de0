"""Starting worker processes: for a suspect alone, and several beside each other."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.engine import descriptors

MODULE = "counterfoil.app.worker_child"
NO_ANSWER = 255


class WorkerProcess:
    """A started worker process. It drains when told, or when this process is gone: it holds the other end of a pipe."""

    def __init__(self, process: asyncio.subprocess.Process, held: int, answers: int) -> None:
        self._process = process
        self._held = held
        self._answers = answers
        self._answer = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self) -> None:
        """Tell it to drain. Raises ProcessLookupError when it has ended."""
        self._process.terminate()

    def kill(self) -> None:
        """End it. Raises ProcessLookupError when it has ended."""
        self._process.kill()

    async def wait(self) -> int:
        """Its exit status, below zero for a signal. NO_ANSWER: it says that all is well, and never came to its end."""
        status = await self._process.wait()
        if self._held >= 0:
            # Without waiting for the end of the pipe: a process that the user's code left behind may hold it open.
            with suppress(BlockingIOError):
                self._answer = os.read(self._answers, 1 << 16)
            descriptors.close(self._held)
            os.close(self._answers)
            self._held = -1
        # The user's code may call `os._exit(0)`: that is a death like any other.
        return NO_ANSWER if status == 0 and self.answer is None else status

    @property
    def answer(self) -> dict[str, Any] | None:
        """{worker_id, ended_by, problems} of a worker that ended in order; None of one that died. After `wait`."""
        return json.loads(self._answer) if self._answer.endswith(b"\n") else None


@dataclass(frozen=True, slots=True)
class WorkerProcesses:
    """Starts worker processes of one application: `target` is MODULE:NAME, `db` as `--db`, `folder` where modules are looked for.

    They inherit the environment, and with it the secrets of receivers. `log`: where they write what else goes to stderr.
    """

    target: str
    db: str | None
    folder: Path
    log: Path | None = None

    async def isolate(self, run_id: str) -> WorkerProcess:
        """For `Worker(isolate=...)`: a worker for one run. Raises OSError."""
        return await self.start(only=run_id)

    async def start(
        self,
        *,
        only: str | None = None,
        until_idle: bool = False,
        pieces: int | None = None,
        queues: frozenset[str] | None = None,
    ) -> WorkerProcess:
        """`pieces`: a pipe that takes what models have answered so far. Raises OSError when the system gives no process."""
        served = None if queues is None else sorted(queues)
        orders = json.dumps(
            {
                "app": self.target, "db": self.db, "only": only, "until_idle": until_idle, "pieces": pieces,
                "queues": served,
            }
        )  # fmt: skip
        # -P: the working folder comes after our own modules, as it does for the command that we are.
        command = (sys.executable, "-P", "-m", MODULE, orders)
        stdin, held = os.pipe()
        descriptors.only_here(
            held
        )  # else the child would not hear that we are gone while one of the user's forks lives
        answers, stdout = os.pipe()
        os.set_blocking(answers, False)
        try:
            process = await self._started(command, stdin, stdout, () if pieces is None else (pieces,))
        except BaseException:
            descriptors.close(held)
            os.close(answers)
            raise
        finally:
            os.close(stdin)
            os.close(stdout)
        return WorkerProcess(process, held, answers)

    async def _started(
        self, command: tuple[str, ...], stdin: int, stdout: int, others: tuple[int, ...]
    ) -> asyncio.subprocess.Process:
        with ExitStack() as stack:
            stderr: Any = None if sys.__stderr__ is not None else DEVNULL
            if self.log is not None:
                stderr = stack.enter_context(self.log.open("ab"))
            return await asyncio.create_subprocess_exec(
                *command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=self.folder, process_group=0, pass_fds=others
            )  # fmt: skip
