"""The backends of this release by their address, so that the command line need not name a database."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from counterfoil.store.port import Database, Hooks
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.conformance.bench import MakeDatabase, SetClock


@dataclass(frozen=True, slots=True)
class Backend:
    """`make` gives empty databases; `server_version` is what the backend says of itself."""

    name: str
    server_version: str
    make: MakeDatabase


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
