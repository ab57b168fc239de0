"""What this package needs of a SQLite connection, typed: the one place that knows how apsw spells it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol


class Rows(Protocol):
    """The rows of one statement, read as they are asked for."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        ...

    @property
    def get(self) -> Any:
        """The one value of a result that is one value; None without a row."""
        ...


class Connection(Protocol):
    """A connection that runs statements."""

    def execute(self, statements: str, bindings: Sequence[Any] | Mapping[str, Any] | None = None, /) -> Rows:
        """Run one statement, or several without bindings."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]], /) -> Rows:
        """Run one statement for each set of bindings."""
        ...

    def pragma(self, name: str, value: Any = None, /) -> Any:
        """Read a setting, or change it and read what it is then."""
        ...


def pragma(connection: Connection, name: str, value: Any = None) -> Any:
    """Read a setting, or change it and read what it is then."""
    return connection.pragma(name) if value is None else connection.pragma(name, value)


def run(connection: Connection, statements: str) -> None:
    """Run statements that give nothing back."""
    connection.execute(statements)


def one(connection: Connection, statement: str) -> tuple[Any, ...] | None:
    """The only row of a query, or None."""
    return connection.execute(statement).fetchone()
