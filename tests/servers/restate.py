"""A real Restate server on 127.0.0.1: its `ingress` takes calls, its `admin` side the places of services."""

import platform
import re
import signal
from pathlib import Path

from tests.servers.kept import Kept, Server

HERE = Path(__file__).parent / "npm" / "node_modules" / "@restatedev"
PORTS = {"ingress": "http-ingress-server", "admin": "admin-api-server"}
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def program() -> str:
    """The one that npm brought for this machine. Raises FileNotFoundError."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = HERE / f"restate-server-linux-{machine}" / "bin" / "restate-server"
    if not found.exists():
        raise FileNotFoundError(
            "The Restate server is not installed: `make set-up-dev` brings it. No test on it was run."
        )
    return str(found)


class RestateServer(Server):
    """One server, from construction to `close`. Nothing of it is kept."""

    def __init__(self) -> None:
        self.program = program()
        super().__init__()
        settings = {"RESTATE_DISABLE_TELEMETRY": "true", "RESTATE_DEFAULT_NUM_PARTITIONS": "1"}
        words = ["--no-logo", "--use-random-ports", "true", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1"]
        command = ["/usr/bin/env", *(f"{name}={value}" for name, value in settings.items()), self.program, *words]
        self._kept = Kept(
            [*command, "--base-dir", str(self.folder / "data")], self.folder, self.who, end=signal.SIGKILL
        )
        self._kept.wait_for(PORTS["admin"])
        self.ingress, self.admin = (f"http://127.0.0.1:{self._port(name)}" for name in PORTS.values())

    def _port(self, name: str) -> int:
        assert self._kept is not None
        self._kept.wait_for(name)
        at = next(n for n, line in enumerate(self._kept.lines) if name in line)
        line = self._kept.wait_for("server.port", since=at)
        return int(COLOURS.sub("", line).rpartition(":")[2])
