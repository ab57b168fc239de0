"""A real PgBouncer on 127.0.0.1 in front of a server of postgres.py, in transaction mode unless asked otherwise.

    with pooled(server) as pooler, server.database() as url: psycopg.connect(pooler.at(url))

Configured as Debian ships it, but for its places and numbers: so it refuses what a plain installation refuses, such as the
startup parameter `options`. Every role of the server signs in through it, by the server's own list.
"""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg

from tests.servers.kept import Kept, Server, own
from tests.servers.postgres import USER, PostgresServer

READY = "process up"


def program() -> str:
    """Debian's is beside the PATH of an ordinary account. Raises FileNotFoundError."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        raise FileNotFoundError("PgBouncer is not installed: `make set-up-dev` brings it. No test on it was run.")
    return found


class Pooler(Server):
    """One pooler. Call `start`, and `close` at the end.

    `mode`: transaction, session or statement. `size`: connections to the server for each database and role.
    """

    def __init__(self, server: PostgresServer, *, mode: str = "transaction", size: int = 4) -> None:
        self.program = program()
        super().__init__()
        self.mode, self.size = mode, size
        self._server = server

    def _configure(self) -> None:
        users, settings = self.folder / "users.txt", self.folder / "pgbouncer.ini"
        users.write_text(f'"{USER}" "{self._server.secret}"\n')
        values = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": users,
            "auth_user": USER,
            "admin_users": USER,
            "pool_mode": self.mode,
            "default_pool_size": self.size,
            "max_client_conn": 500,
            "server_login_retry": 1,  # else it lets nobody through for 15 s after a server was away: longer than we wait
        }
        lines = ["[databases]", f"* = host=127.0.0.1 port={self._server.port}", "[pgbouncer]"]
        settings.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in values.items()), ""]))
        for path in (users, settings):
            own(path, self.who)

    def start(self) -> None:
        """Returns when it takes connections."""
        self._configure()
        self._kept = Kept([self.program, "pgbouncer.ini"], self.folder, self.who, end=signal.SIGKILL)
        self._kept.wait_for(READY)

    def restart(self) -> None:
        """By SIGKILL: it holds nothing but connections, and each of them breaks."""
        self.kill()
        self.start()

    def point_at(self, server: PostgresServer) -> None:
        """As a fail-over does behind one address: from each client's next transaction on it stands in front of `server`."""
        self._server = server
        self._configure()
        self.ask("RELOAD")

    def at(self, url: str) -> str:
        """The database of a server's url, through the pooler, as the same role."""
        parts = urlsplit(url)
        return f"postgresql://{parts.username}:{parts.password}@127.0.0.1:{self.port}{parts.path}"

    def ask(self, statement: LiteralString) -> list[tuple[Any, ...]]:
        """Rows of one command of its console, such as `SHOW SERVERS`."""
        console = f"postgresql://{USER}:{self._server.secret}@127.0.0.1:{self.port}/pgbouncer"
        # The console speaks the simple protocol only.
        with psycopg.connect(console, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def pooled(server: PostgresServer, *, mode: str = "transaction", size: int = 4) -> Iterator[Pooler]:
    with Pooler(server, mode=mode, size=size) as pooler:
        pooler.start()
        yield pooler
