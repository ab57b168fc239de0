"""The Restate server, as npm lays it: its `ingress` takes calls, its `admin` side the places of services."""

import json
import platform
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from counterfoil.model.errors import Refused
from counterfoil.testing.servers.started import READY_WITHIN_SECONDS, Serving, Started

PACKAGE = "@restatedev/restate-server"
PLACES = (Path("node_modules"), Path("tests/servers/npm/node_modules"))
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
ENVIRON = {
    "RESTATE_DISABLE_TELEMETRY": "true",
    "RESTATE_DEFAULT_NUM_PARTITIONS": "1",
    "RESTATE_LOG_FORMAT": "compact",
    "RESTATE_LOG_DISABLE_ANSI_CODES": "true",
}
INGRESS = 'listening server_name=http-ingress-server server.address="127.0.0.1" server.port='
ADMIN = 'listening server_name=admin-api-server server.address="127.0.0.1" server.port='


def installed() -> Path:
    """The server's program. Raises Refused(tool_missing) with the command that installs it."""
    name = f"{PACKAGE}-linux-{MACHINES.get(platform.machine(), platform.machine())}/bin/restate-server"
    above = (parent / "tests/servers/npm/node_modules" for parent in Path(__file__).parents)
    found = next((place / name for place in (*PLACES, *above) if (place / name).is_file()), None)
    if found is None:
        raise Refused("tool_missing", tool=f"The npm package {PACKAGE}", install=f"Install it: npm install {PACKAGE}")
    return found.absolute()


class RestateServer(Serving):
    """The server, from construction until `close`; what it keeps is in `folder`."""

    def __init__(self, folder: Path) -> None:
        words = ["--no-logo", "--use-random-ports", "true", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1"]
        command = [str(installed()), *words, "--base-dir", str(folder)]
        self._started = Started("Restate server", command, environ=ENVIRON)
        self.admin: str = f"http://127.0.0.1:{self._started.wait_for(ADMIN)}"
        self.ingress: str = f"http://127.0.0.1:{self._started.wait_for(INGRESS)}"

    def register(self, uri: str) -> None:
        """The services at this address are called through the ingress from now on. Raises OSError where the server says no."""
        place = urlsplit(self.admin)
        connection = HTTPConnection(place.hostname or "", place.port, timeout=READY_WITHIN_SECONDS)
        try:
            told = json.dumps({"uri": uri, "use_http_11": True})
            connection.request("POST", "/deployments", told, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            if reply.status != 201:
                raise OSError(f"Restate answered {reply.status}: {reply.read()[:500]!r}")
        finally:
            connection.close()
