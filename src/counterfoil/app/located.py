"""Where a ledger is: one file, or one schema of a PostgreSQL server. The one place that opens the one or the other."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from counterfoil import settings
from counterfoil.engine.clock import SteadyClock
from counterfoil.model.errors import Refused
from counterfoil.store.marker import Place, file_still_there
from counterfoil.store.port import Database, Hooks
from counterfoil.store.postgres_address import PostgresAddress, is_postgres
from counterfoil.store.postgres_facts import PostgresSettings
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.store.sqlite_settings import SqliteSettings, schema_version
from counterfoil.store.sqlite_settings import live_settings as sqlite_settings

if TYPE_CHECKING:
    from counterfoil.store.postgres import PostgresDatabase

SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Found:
    """An open database, and what else of it is asked: where it is now, whether another place still has one, and which schema it has.

    `twin`: the place beside it in the same database that holds an installation of this id, None where there is none.
    """

    database: Database
    place: Callable[[], Place]
    still_there: Callable[[Place], bool]
    schema_version: Callable[[], int]
    twin: Callable[[str], str | None] = lambda installation_id: None  # a file holds one


class Located(Protocol):
    """A ledger's place, opened by nobody yet.

    `shown` names it in commands and messages, without a password. `beside`: what belongs to whoever works with it here (logs,
    secrets, the approval key) lies in this path's folder, and the log has its name.
    """

    @property
    def backend(self) -> str: ...

    @property
    def shown(self) -> str: ...

    @property
    def beside(self) -> Path: ...

    def open(self, clock: SteadyClock, *, create: bool, hooks: Hooks, own_clock: bool) -> Found:
        """Raises Refused or StorageError. `own_clock`: time was not set from outside, so a server's clock may be taken."""
        ...

    def settings(self) -> "SqliteSettings | PostgresSettings":
        """The settings under which commits are kept. Raises Refused or StorageError."""
        ...

    def taken(self) -> bool:
        """Whether something is there already, so that nothing may be founded. Raises Refused or StorageError."""
        ...

    def remove(self) -> None:
        """Take away what was just made here and could not be finished; it was not there before."""
        ...

    def kept(self, installation_id: str) -> Path:
        """The path whose name artifacts bear, `<path>.artifacts`."""
        ...

    def locks(self, installation_id: str) -> Path:
        """The folder of process locks on this host."""
        ...


@dataclass(frozen=True, slots=True)
class InFile:
    """SQLite. What else the ledger keeps lies beside its file."""

    path: Path
    backend: str = "sqlite"

    @property
    def shown(self) -> str:
        """The path, as it was given."""
        return str(self.path)

    @property
    def beside(self) -> Path:
        """The file itself."""
        return self.path

    def open(self, clock: SteadyClock, *, create: bool, hooks: Hooks, own_clock: bool) -> Found:
        """The file, made if asked."""
        del own_clock  # the clock is the host's either way
        database = SqliteDatabase(self.path, clock, create=create, hooks=hooks)

        def still_there(known: Place) -> bool:
            return file_still_there(known, Place.of(self.path))

        return Found(database, lambda: Place.of(self.path), still_there, lambda: schema_version(self.path))

    def settings(self) -> SqliteSettings:
        """The file's."""
        return sqlite_settings(self.path)

    def taken(self) -> bool:
        """Any file there is somebody's."""
        return self.path.exists()

    def remove(self) -> None:
        """The file and its log."""
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def kept(self, installation_id: str) -> Path:
        """Beside the file."""
        del installation_id
        return self.path

    def locks(self, installation_id: str) -> Path:
        """Beside the file: everybody who opens it on this host finds them."""
        del installation_id
        return self.path.with_name(self.path.name + ".locks")


@dataclass(frozen=True, slots=True)
class OnServer:
    """PostgreSQL. There is no file to lie beside: what a person has lies in the working folder, the rest in the state folder."""

    address: PostgresAddress
    backend: str = "postgres"

    @property
    def shown(self) -> str:
        """The address without its password."""
        return self.address.shown

    @property
    def beside(self) -> Path:
        """As if the ledger were a file of the working folder."""
        return Path(settings.DEFAULT_DATABASE)

    def open(self, clock: SteadyClock, *, create: bool, hooks: Hooks, own_clock: bool) -> Found:
        """The schema, made if asked. Raises Refused(tool_missing) without the driver."""
        database = self._database(None if own_clock else clock, create=create, hooks=hooks)
        return Found(database, database.place, database.still_there, database.schema_version, database.twin)

    def settings(self) -> "PostgresSettings":
        """The server's."""
        from counterfoil.store.postgres_settings import live_settings

        return live_settings(self.address)

    def taken(self) -> bool:
        """An installation in the schema; empty tables of ours are nobody's."""
        try:
            database = self._database(None, create=False, hooks=Hooks())
        except Refused as refused:
            if refused.code == "no_database":
                return False
            raise
        try:
            with database.reader() as reader:
                return reader.installation is not None
        finally:
            database.close()

    def remove(self) -> None:
        """Nothing: tables without an installation are taken up by the next `init`."""

    def _database(self, clock: SteadyClock | None, *, create: bool, hooks: Hooks) -> "PostgresDatabase":
        try:
            from counterfoil.store.postgres import PostgresDatabase
        except ImportError as problem:
            raise Refused(
                "tool_missing",
                tool="The PostgreSQL driver psycopg",
                install="Install it: pip install 'counterfoil[postgres]'",
            ) from problem
        return PostgresDatabase(self.address, clock, create=create, hooks=hooks)

    def kept(self, installation_id: str) -> Path:
        """In COUNTERFOIL_FILES, which workers of several hosts share; else in the state folder."""
        folder = settings.value_of("COUNTERFOIL_FILES")
        return (Path(folder) if folder else settings.state_folder()) / installation_id

    def locks(self, installation_id: str) -> Path:
        """In the state folder: a lock is of one host."""
        return settings.state_folder() / f"{installation_id}.locks"

    def held(self, key: int) -> AbstractContextManager[bool]:
        """Whether a key of the server was free; it is held while the block is open. Raises StorageError."""
        from counterfoil.store.postgres_held import held

        return held(self.address, key)


def located(given: str | None) -> InFile | OnServer:
    """`--db`, else COUNTERFOIL_DB, else ./counterfoil.db: a path, sqlite:///PATH or postgresql://... Raises Refused(usage)."""
    text = given or settings.value_of("COUNTERFOIL_DB")
    if is_postgres(text):
        return OnServer(PostgresAddress.of(text))
    path = text.removeprefix(SQLITE)
    if "://" in path:
        raise Refused(
            "usage",
            problem=f"there is no backend for {path.partition('://')[0]}://; give a file, sqlite:///FILE or postgresql://",
        )
    if len(Path(path).name) > 200 or len(path) > 3000:
        raise Refused("usage", problem="the path of the database is too long")
    return InFile(Path(path))
