"""Temporal for the demo: the development server as a child process, unless a cluster is named."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

from counterfoil import settings
from counterfoil.model.errors import CounterfoilError, Refused

READY_WITHIN = 300  # looks, 0.1 s apart
INSTALL = "Install it: pip install 'counterfoil[temporal]', and Temporal's command line (https://docs.temporal.io/cli)."


def program() -> str | None:
    """Temporal's command line: beside this Python, where a wheel lays it, or on the path."""
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


def installed() -> None:
    """Raises Refused(tool_missing)."""
    if find_spec("temporalio") is None:
        raise Refused("tool_missing", tool="The Python package temporalio", install=INSTALL)
    if not _named() and program() is None:
        raise Refused("tool_missing", tool="Temporal's development server", install=INSTALL)


class TemporalServer:
    """`environment` makes commands use it. In memory: what it holds ends with the demo."""

    def __init__(self, folder: Path) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {"COUNTERFOIL_ENGINE": "temporal"}
        if _named():
            return
        found = program()
        assert found is not None, "it was looked for"
        port, http = _free_port(), _free_port()
        self.environment["COUNTERFOIL_TEMPORAL_ADDRESS"] = f"127.0.0.1:{port}"
        with (folder / "temporal.log").open("wb") as said:
            self._process = subprocess.Popen(
                [
                    *(found, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)),
                    *("--http-port", str(http), "--log-level", "warn", "--search-attribute", "CounterfoilRun=Keyword"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # Ctrl-C goes to the demo, which ends what it started
            )
        self._wait(http)

    def _wait(self, http: int) -> None:
        """Until it knows its namespace. Raises CounterfoilError(temporal_down)."""
        assert self._process is not None
        for _ in range(READY_WITHIN):
            if self._process.poll() is not None:
                break
            try:
                asking = HTTPConnection("127.0.0.1", http, timeout=2)
                asking.request("GET", "/api/v1/namespaces/default")
                if asking.getresponse().status == 200:
                    return
            except (OSError, HTTPException):
                pass
            Event().wait(0.1)
        self.close()
        address = self.environment["COUNTERFOIL_TEMPORAL_ADDRESS"]
        raise CounterfoilError("temporal_down", address=address, problem="the development server did not start")

    def close(self) -> None:
        """End it."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _named() -> bool:
    return "COUNTERFOIL_TEMPORAL_ADDRESS" in settings.environment()


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]
