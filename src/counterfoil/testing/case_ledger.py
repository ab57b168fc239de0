"""The ledger of one rehearsed case, from outside: what it holds, a backup of it put back, a copy of it opened elsewhere.

Whoever disturbs it and whoever judges it need not know whether it is a file or a schema of a server.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from counterfoil.app.located import InFile, OnServer
from counterfoil.model.errors import Refused
from counterfoil.store.port import Reader


class CaseLedger(Protocol):
    """One ledger, which children open by `db`. Nothing here waits for them, and nothing changes what they would find.

    Everything that asks the database may raise StorageError.
    """

    @property
    def backend(self) -> str:
        """sqlite or postgres."""
        ...

    @property
    def db(self) -> str:
        """As App and --db take it; a server's with its password."""
        ...

    @property
    def environ(self) -> dict[str, str]:
        """What its children need in their environment besides."""
        ...

    def there(self) -> bool:
        """Whether anything was founded."""
        ...

    def reader(self) -> AbstractContextManager[Reader]:
        """What is committed, at one moment."""
        ...

    def content(self) -> dict[str, Any]:
        """What it consists of, for a proof: files with their digests, or tables with their rows."""
        ...

    def head(self) -> dict[str, Any]:
        """{batches, in_flight_batch, incarnation}, or {refused: code}."""
        ...

    def back_up(self) -> "CaseLedger":
        """As it is now, kept apart."""
        ...

    def put_back(self, backup: "CaseLedger", *, whole: bool) -> None:
        """The backup over what is there. `whole`: everything of it anew, artifacts and locks too."""
        ...

    def copied(self) -> "CaseLedger":
        """A copy elsewhere, which may be opened beside it."""
        ...

    def moved(self) -> "CaseLedger":
        """The same ledger at another place; nothing is left here."""
        ...

    def remove(self) -> None:
        """Take away what no folder holds: this, its copies and its backups."""
        ...


MakeLedger = Callable[[Path], CaseLedger]


def ledgers_at(where: InFile | OnServer) -> MakeLedger:
    """Ledgers of the same kind as this one, in empty folders: files there, or schemas beside it in its database.

    Raises Refused(tool_missing) without the server's driver.
    """
    if isinstance(where, InFile):
        return files
    try:
        from counterfoil.testing.case_schema import SchemaLedger
    except ImportError as problem:
        raise Refused(
            "tool_missing",
            tool="The PostgreSQL driver psycopg",
            install="Install it: pip install 'counterfoil[postgres]'",
        ) from problem
    address = where.address
    return lambda folder: SchemaLedger.beside(address, folder)


def files(folder: Path) -> CaseLedger:
    """A SQLite file in this folder."""
    from counterfoil.testing.case_file import FileLedger

    return FileLedger(folder / "counterfoil.db")
