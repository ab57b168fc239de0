"""Workers that are forked from one process, which has imported everything: sixteen of them start as fast as one."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from counterfoil import App
from counterfoil.app.driving import drive_until_told
from counterfoil.testing.children import Child, Children
from tests.crash.witness import FILE, GATE


def works(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """What a child does: {db}. It is a worker until SIGTERM, says its name when it listens, and `drained` at its end."""
    app.db = arguments["db"]

    async def driven() -> list[BaseException]:
        worker = app.new_worker()
        await drive_until_told(worker, lambda: say({"worker": worker.worker_id}), until_idle=False)
        return worker.problems

    problems = asyncio.run(driven())
    app.close()
    say({"problems": [repr(problem) for problem in problems]})


class ForkedFleet:
    """`count` workers on the database at `url`. Steps wait at the `gate` until that file is made.

    `stopped`: when each was killed or frozen first, by its process.
    """

    def __init__(self, forks: Children, folder: Path, url: str, count: int, **environ: str) -> None:
        self.witness, self.gate = folder / "witness", folder / "gate"
        self.stopped: dict[int, int] = {}
        given = {"COUNTERFOIL_STATE": str(folder / "state"), FILE: str(self.witness), GATE: str(self.gate), **environ}
        self.workers = [
            forks.start(f"{__name__}:works", {"db": url}, log=folder / f"worker-{n}.log", environ=given, seconds=180)
            for n in range(count)
        ]
        for worker in self.workers:
            forks.until(worker, lambda: worker.said, "does not listen")  # noqa: B023 - asked at once

    def of(self, pid: int) -> Child:
        return next(worker for worker in self.workers if worker.pid == pid)

    def kill(self, worker: Child, at: int) -> None:
        self.stopped.setdefault(worker.pid, at)
        worker.kill()

    def freeze(self, worker: Child, at: int) -> None:
        self.stopped.setdefault(worker.pid, at)
        worker.freeze()

    def drain(self, worker: Child) -> None:
        """Tell it to end. It is not waited for."""
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGTERM)

    def drained(self, worker: Child) -> None:
        """Until it has ended in order, with nothing that no run could be blamed for."""
        worker.wait()
        assert (worker.exit_code, worker.said[-1]) == (0, {"problems": []}), worker.wrote()

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
