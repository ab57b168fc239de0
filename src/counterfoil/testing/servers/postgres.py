"""A PostgreSQL server with a cluster of its own: the system's newest, or the one that set-up lays into .build/postgres."""

import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from counterfoil.model.errors import Refused
from counterfoil.testing.servers.started import Serving, Started

APART = Path(".build/postgres")
SYSTEM = Path("/usr/lib/postgresql")
USER = "counterfoil"
READY = "database system is ready to accept connections"
INSTALL = "Install it: apt-get install postgresql, or see https://www.postgresql.org/download/"


def binaries() -> Path:
    """The folder that holds `postgres` and `initdb`. Raises Refused(tool_missing)."""
    above = [parent / APART for parent in Path(__file__).parents]
    places = [*SYSTEM.glob("*/bin"), *(found for place in (APART, *above) for found in place.glob("*/pginstall*/bin"))]
    if on_path := shutil.which("postgres"):
        places.append(Path(on_path).resolve().parent)
    whole = [place.absolute() for place in places if (place / "postgres").is_file() and (place / "initdb").is_file()]
    if not whole:
        raise Refused("tool_missing", tool="PostgreSQL", install=INSTALL)
    return max(whole, key=_version)


def account() -> tuple[int, int] | None:
    """PostgreSQL refuses root, so root starts it as somebody without rights; None: as whoever this is."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
    raise Refused("tool_missing", tool="An account `postgres` or `nobody`", install="Or do not run this as root.")


class PostgresServer(Serving):
    """The server, from construction until `close`; its cluster goes with it. `url`: of its database `postgres`."""

    def __init__(self) -> None:
        self._place, self._account = binaries(), account()
        self._folder = Path(tempfile.mkdtemp(prefix="counterfoil-postgres-"))
        if self._account is not None:
            os.chown(self._folder, *self._account)
        self.port: int = _free_port()
        secret = secrets.token_hex(12)
        self.url: str = f"postgresql://{USER}:{secret}@127.0.0.1:{self.port}/postgres"
        self._cluster(secret)
        here = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        words = [word for name, value in here.items() for word in ("-c", f"{name}={value}")]
        command = [str(self._place / "postgres"), "-D", str(self._folder / "data"), *words]
        self._started = Started("PostgreSQL", command, environ={"LC_ALL": "C"}, account=self._account)
        self._started.wait_for(READY)

    def _cluster(self, secret: str) -> None:
        password = self._folder / "password"
        password.write_text(secret)
        if self._account is not None:
            os.chown(password, *self._account)
        words = ["--username", USER, "--pwfile", str(password), "--auth", "scram-sha-256", "--encoding", "UTF8"]
        told = self._run("initdb", *words, "--no-locale", "--no-sync")
        if told.returncode:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise Refused("tool_missing", tool="A working PostgreSQL", install=f"initdb said:\n{told.stdout[-2000:]}")

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        user, group = self._account or (None, None)
        return subprocess.run(
            [self._place / program, "-D", str(self._folder / "data"), *words],
            cwd=self._folder,
            env=os.environ | {"LC_ALL": "C"},
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def close(self) -> int:
        """End it, and forget its cluster. May be called twice."""
        if self._folder.exists():
            self._run("pg_ctl", "stop", "--mode", "immediate")  # by its own way, so that it leaves no shared memory
        status = super().close()
        shutil.rmtree(self._folder, ignore_errors=True)
        return status


def _version(place: Path) -> int:
    told = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+", told)
    return int(found[0]) if found else 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as tried:
        return int(tried.getsockname()[1])
