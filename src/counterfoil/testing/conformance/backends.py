"""The backends of this release by their address, so that the command line need not name a database."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from counterfoil.app.located import InFile, OnServer
from counterfoil.model.errors import Refused
from counterfoil.store.port import Database, Hooks
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.conformance.bench import MakeDatabase, SetClock


@dataclass(frozen=True, slots=True)
class Backend:
    """`make` gives empty databases; `server_version` is what the backend says of itself."""

    name: str
    server_version: str
    make: MakeDatabase


def backend_at(where: InFile | OnServer) -> AbstractContextManager[Backend]:
    """The backend of a database that is not touched. Raises Refused(usage) where nothing can be made beside it."""
    if isinstance(where, OnServer):
        return postgres_within(where.address)
    if not where.path.absolute().parent.is_dir():
        raise Refused("usage", problem=f"{where.path.absolute().parent} is not a folder")
    return sqlite_beside(where.path)


@contextmanager
def sqlite_beside(database: Path) -> Generator[Backend, None, None]:
    """SQLite on the file system of a database that is not touched: all files lie in a folder that goes at the end."""
    beside = database.absolute().parent
    with TemporaryDirectory(prefix=".counterfoil-conformance-", dir=beside) as folder:

        def make(location: Path, clock: SetClock, hooks: Hooks) -> Database:
            place = Path(folder) / location.name
            place.mkdir(exist_ok=True)
            return SqliteDatabase(place / "ledger.db", clock, create=True, hooks=hooks)

        yield Backend("sqlite", apsw.sqlite_lib_version(), make)


@contextmanager
def postgres_within(address: PostgresAddress) -> Generator[Backend, None, None]:
    """PostgreSQL in a database that holds other things: in a schema of its own, which goes at the end.

    One case runs at a time, so the schema is made once, and emptied for each new location.
    """
    from counterfoil.store.postgres import PostgresDatabase
    from counterfoil.store.postgres_scratch import empty, scratch_schema

    with scratch_schema(address) as scratch:
        founded = PostgresDatabase(scratch, create=True)
        founded.close()
        used: list[Path] = []

        def make(location: Path, clock: SetClock, hooks: Hooks) -> Database:
            if location not in used:
                empty(scratch)
                used.append(location)
            return PostgresDatabase(scratch, clock, hooks=hooks)

        yield Backend("postgres", founded.server.shown, make)
