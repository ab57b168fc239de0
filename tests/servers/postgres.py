"""A real PostgreSQL on 127.0.0.1: started in a second, restarted, killed, frozen, copied by a streaming replica.

    server = shared()                        one for this process, for tests that only use it
    with running() as server: ...            one of its own, for tests that kill it
    with server.database() as url: ...       a fresh, empty database, dropped at the end
    with server.replica() as standby: ...    its copy, streaming, until `standby.promote()`

Binaries: the system's newest (Debian keeps several side by side), else those of the wheel that scripts/set_up.py lays into
.build/postgres. `installed()` has all, so that a test can run on each. Everything lies in one folder under the
temporary ones and is gone when this process is, however it went (keeper.py).
"""

import atexit
import contextlib
import functools
import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.servers.kept import SECONDS, Kept, Server, ServerEnded, own

WHEEL = Path(__file__).resolve().parents[2] / ".build" / "postgres"
OLDEST = 14
USER = "counterfoil"
READY = "database system is ready to accept"  # ... connections, or read-only connections

# Small and honest: what is committed is on disk before it is answered.
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "'16MB'",
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_level": "replica",
    "wal_keep_size": "'256MB'",  # a replica that was frozen for a while can go on
    "max_wal_senders": "8",
    "lc_messages": "'C'",  # we read its lines
    "dynamic_shared_memory_type": "mmap",  # files in its folder, so that a killed server leaves nothing elsewhere
    "jit": "off",
}


@functools.cache
def installed() -> dict[int, Path]:
    """The folder with `postgres` and `initdb` for each major version that is here, newest first."""
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), *WHEEL.glob("*/pginstall*/bin")]
    if on_path := shutil.which("postgres"):
        places.append(Path(on_path).resolve().parent)
    found: dict[int, Path] = {}
    for place in places:
        if (place / "postgres").exists() and (place / "initdb").exists():
            told = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
            version = re.search(r"\d+", told)
            if version and int(version[0]) >= OLDEST:
                found.setdefault(int(version[0]), place)
    return dict(sorted(found.items(), reverse=True))


def default() -> int:
    """The system's newest version, since that is what people run; without one, the wheel's."""
    found = installed()
    if not found:
        raise FileNotFoundError("PostgreSQL is not installed: `make set-up-dev` brings it. No test on it was run.")
    return next((version for version, place in found.items() if WHEEL not in place.parents), next(iter(found)))


def closed(program: Path) -> bool:
    """Whether an account without rights cannot run it: a repository may lie in root's own folder."""
    return any(path.stat().st_mode & 0o005 != 0o005 for path in (program, *program.parents))


class PostgresServer(Server):
    """One PostgreSQL with a cluster of its own.

    `version`: the major version. `on_disk`: its folder is not in memory, so that a flush costs what it costs.
    Raises FileNotFoundError where it is not installed. Call `create` and `start`, and `close` at the end.
    """

    def __init__(self, version: int | None = None, *, secret: str | None = None, on_disk: bool = False) -> None:
        self.version = default() if version is None else version
        if self.version not in installed():
            raise FileNotFoundError(f"PostgreSQL {self.version} is not installed. There are: {list(installed())}.")
        place = installed()[self.version]
        copied = os.geteuid() == 0 and closed(place / "postgres")
        # What lies in memory may not be run everywhere, so copied programs lie on disk.
        super().__init__(on_disk=on_disk or copied)
        self.data = self.folder / "data"
        self.binaries: Path = self._copied(place) if copied else place
        self.secret: str = secret or secrets.token_hex(12)
        self._number = 0

    def _copied(self, place: Path) -> Path:
        """The wheel as its programs expect it: their folder two below the wheel's, and its libraries beside that."""
        version, wheel, target = place.parent, place.parents[1], self.folder / "programs"
        unused = shutil.ignore_patterns("include")
        shutil.copytree(version, target / wheel.name / version.name, ignore=unused)
        for libraries in wheel.parent.glob("*.libs"):
            shutil.copytree(libraries, target / libraries.name)
        for path in (target, *target.rglob("*")):
            own(path, self.who)
        return target / wheel.name / version.name / "bin"

    # --- its life ------------------------------------------------------------------------------------------------

    def create(self, **settings: str) -> None:
        """A new, empty cluster. `settings` go to postgresql.conf as they are written there."""
        password = self.folder / "password"
        password.write_text(self.secret)
        own(password, self.who)
        create = ["initdb", "--pgdata", str(self.data), "--username", USER, "--pwfile", str(password), "--no-sync",
                  "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8"]  # fmt: skip
        # Text sorts as people sort it where the build can, as it does on Debian: what needs the order of bytes must say so.
        try:
            self.run(*create, *([] if self.version < 15 else ["--locale-provider=icu", "--icu-locale=en-US"]))
        except ServerEnded as ended:
            if "ICU is not supported" not in str(ended):
                raise
            self.run(*create)
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(f"{name} = {value}\n" for name, value in (SETTINGS | settings).items())

    def start(self) -> None:
        """Returns when it takes connections: after recovery, where there is something to recover."""
        here = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        command = [str(self.binaries / "postgres"), "-D", str(self.data)]
        for name, value in here.items():
            command += ["-c", f"{name}={value}"]
        self._kept = Kept(command, self.folder, self.who, end=signal.SIGQUIT)
        self._kept.wait_for(READY)

    def stop(self, *, by: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends every session and stops cleanly, SIGQUIT stops at once and recovers later, SIGTERM lets sessions finish."""
        self.kept.stop(by)

    def restart(self, *, by: signal.Signals = signal.SIGINT) -> None:
        self.stop(by=by)
        self.start()

    def close(self) -> None:
        """Ends it and removes its folder."""
        if self._kept is not None:
            if self._kept.alive:
                self.thaw()
                self.stop(by=signal.SIGQUIT)
            self._forget_segment()
        super().close()

    def _forget_segment(self) -> None:
        """A killed server leaves a segment of shared memory, which the next start in its folder would have removed."""
        with contextlib.suppress(OSError, IndexError):
            number = (self.data / "postmaster.pid").read_text().splitlines()[6].split()[1]
            subprocess.run(["ipcrm", "-m", number], stderr=subprocess.DEVNULL, check=False)

    def run(self, program: str, *arguments: str, **environment: str) -> str:
        """One of PostgreSQL's own programs, as the server's account. Raises ServerEnded with what it printed."""
        ended = subprocess.run(
            [self.binaries / program, *arguments],
            cwd=self.folder,
            env=os.environ | {"LC_ALL": "C", "PGPASSWORD": self.secret} | environment,
            user=self.who.user,
            group=self.who.group,
            extra_groups=None if self.who.user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if ended.returncode:
            raise ServerEnded(f"{program} ended with status {ended.returncode}:\n{ended.stdout}")
        return ended.stdout

    # --- its databases -------------------------------------------------------------------------------------------

    def url_of(self, database: str) -> str:
        """The url of a database by its name. `postgres` is always there."""
        return f"postgresql://{USER}:{self.secret}@127.0.0.1:{self.port}/{database}"

    def at(self, url: str) -> str:
        """The same database at this server: a replica's, or the primary's once more."""
        return self.url_of(urlsplit(url).path.removeprefix("/"))

    def ask(self, statement: LiteralString, *values: object, url: str | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement, outside a transaction, on a connection of its own."""
        with psycopg.connect(url or self.url_of("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def url(self, *, template: str | None = None) -> str:
        """The url of a new, empty database, or of a copy of the one at the url `template`, which nobody may be using."""
        self._number += 1
        name = f"test_{self._number}"
        source = "template1" if template is None else urlsplit(template).path.removeprefix("/")
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(source))
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            connection.execute(statement)
        return self.url_of(name)

    def drop(self, url: str) -> None:
        """Ends every session of the database and removes it. A thousand tests would fill the disk otherwise."""
        name = sql.Identifier(urlsplit(url).path.removeprefix("/"))
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    @contextlib.contextmanager
    def database(self, *, template: str | None = None) -> Iterator[str]:
        """As `url`, dropped at the end if the server is still there."""
        url = self.url(template=template)
        try:
            yield url
        finally:
            if self.kept.alive:
                self.drop(url)

    # --- a second one --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def replica(self, *, synchronous: bool = False) -> Iterator["Replica"]:
        """A standby that streams from this server and takes connections that only read. Name in replication: `standby`.

        `synchronous`: this server answers a COMMIT when the standby has it on disk too, and so never while the standby
        is frozen. Do not do that to the shared one.
        """
        with Replica(self) as standby:
            standby.follow()
            if synchronous:
                said = len(self.kept.lines)
                self.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
                self.ask("SELECT pg_reload_conf()")
                self.kept.wait_for("is now a synchronous standby", since=said)
            try:
                yield standby
            finally:
                if synchronous and self.kept.alive:
                    self.thaw()
                    self.ask("ALTER SYSTEM RESET synchronous_standby_names")
                    self.ask("SELECT pg_reload_conf()")


class Replica(PostgresServer):
    """A standby, and a primary of its own from `promote` on: then its timeline is another one."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__(primary.version, secret=primary.secret)
        self.primary = primary

    def follow(self) -> None:
        """Copies the primary's cluster and starts to stream from it."""
        source = f"{self.primary.url_of('postgres')}?application_name=standby"
        self.run("pg_basebackup", "--pgdata", str(self.data), "--dbname", source, "--write-recovery-conf",
                 "--wal-method=stream", "--checkpoint=fast", "--no-sync")  # fmt: skip
        self.start()
        self.kept.wait_for("started streaming WAL from primary")

    def promote(self) -> None:
        """Returns when it takes writes."""
        assert self.ask("SELECT pg_promote(true, 60)") == [(True,)]


@contextlib.contextmanager
def running(version: int | None = None, *, on_disk: bool = False, **settings: str) -> Iterator[PostgresServer]:
    """A server of one's own. `settings` go to postgresql.conf as they are written there. Whoever measures takes `on_disk`."""
    with PostgresServer(version, on_disk=on_disk) as server:
        server.create(**settings)
        server.start()
        yield server


@functools.cache
def shared() -> PostgresServer:
    """The one server of this process, for tests that only use it. Ends with the process."""
    server = PostgresServer()
    server.create()
    server.start()
    owner = os.getpid()
    atexit.register(lambda: server.close() if os.getpid() == owner else None)  # a forked child does not own it
    return server
