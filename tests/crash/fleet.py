"""Worker processes of the command line on one database: started, frozen, killed and told to end, each by its own pid."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

READY_WITHIN_S = 60.0
SECRET = "fleet"


class FleetWorker:
    """One `counterfoil worker`. `said` is what it wrote."""

    def __init__(self, environment: dict[str, str], folder: Path, words: Sequence[str] = ()) -> None:
        self.said: list[str] = []
        self.frozen = False
        self._ready = threading.Event()
        command = [sys.executable, "-m", "counterfoil", "worker", "--app", "tests.crash.fleet_application:app", *words]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                self.said.append(line)
                if "drives the runs" in line:
                    self._ready.set()
        self._ready.set()  # it has ended: whoever waits looks

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self) -> None:
        """Until it says that it drives runs."""
        assert self._ready.wait(READY_WITHIN_S), self.said
        assert self.alive, self.said

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self.frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self._signal(signal.SIGCONT)

    def over(self) -> None:
        """It is gone, and all that it said is read."""
        if self.alive:
            self.kill()
        self._process.wait()
        self._reader.join()

    def tell_to_end(self) -> None:
        self._signal(signal.SIGTERM)

    def ended(self, within_s: float) -> int:
        """Its exit status. Raises subprocess.TimeoutExpired."""
        return self._process.wait(within_s)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


class Fleet:
    """Workers with one environment. All are gone at the end, frozen ones too."""

    def __init__(self, folder: Path, urls: Sequence[str], **environment: str) -> None:
        self.workers: list[FleetWorker] = []
        self._folder = folder
        self._urls = urls
        self._environment = environment
        self._started = 0

    def environment(self, url: str) -> dict[str, str]:
        paths = os.pathsep.join([p for p in sys.path if p])
        own = {"COUNTERFOIL_DB": url, "COUNTERFOIL_STATE": str(self._folder / "state"), "PYTHONPATH": paths}
        return os.environ | own | {"COUNTERFOIL_LEASE_SECONDS": "2"} | self._environment

    def start(self, *words: str) -> FleetWorker:
        """One more, by the next of the addresses. It is not waited for."""
        url = self._urls[self._started % len(self._urls)]
        self._started += 1
        worker = FleetWorker(self.environment(url), self._folder, words)
        self.workers.append(worker)
        return worker

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.over()
