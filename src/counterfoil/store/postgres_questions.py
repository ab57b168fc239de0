"""A PostgreSQL snapshot, as the repositories ask it."""

from collections.abc import Iterable, Iterator
from typing import Any, LiteralString

from counterfoil.store.postgres_connection import Connection, Cursor, asked, executed, plain, text
from counterfoil.store.postgres_statements import STATEMENTS, asked_by_index, asked_by_key
from counterfoil.store.questions import Asked
from counterfoil.store.records import MAKERS
from counterfoil.store.tables import Key, Table

STRETCH = 2000  # rows that are fetched at once where there may be any number


class PostgresRows:
    """The rows of one statement. See `store.driver.Rows`."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return next(self._rows, None)

    @property
    def get(self) -> Any:
        """The one value."""
        row = self.fetchone()
        return None if row is None else row[0]


class PostgresQuestions:
    """See `store.questions.Questions`. The connection is within a transaction of its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._streams = 0

    def ask(self, name: str, given: Asked | None = None, /) -> PostgresRows:
        """A named query."""
        return PostgresRows(asked(self._connection, name, given))

    def run(self, statement: str, given: Asked, /) -> PostgresRows:
        """A statement that was put together."""
        return PostgresRows(executed(self._connection, statement, given))

    def stream(self, name: str, /) -> PostgresRows:
        """A named query with any number of rows, by a cursor of the transaction."""
        return PostgresRows(self._declared(plain(name)))

    def by_key(self, table: Table, keys: Iterable[Key], /) -> Iterable[Any]:
        """The records with these keys."""
        statement, arrays = asked_by_key(table, keys)
        return map(MAKERS[table.name], self._connection.execute(text(statement), arrays))

    def by_index(self, table: Table, index: str, values: Iterable[str | int], /) -> Iterable[Any]:
        """The records found by an index."""
        if index == "all":
            return map(MAKERS[table.name], self._declared(STATEMENTS[table.name].all_rows))
        statement, arrays = asked_by_index(table, index, values)
        return map(MAKERS[table.name], self._connection.execute(text(statement), arrays))

    def _declared(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows by a cursor of the transaction, the first stretch with its making: most tables are no longer."""
        self._streams += 1
        fetch = text(f"FETCH {STRETCH} FROM stream_{self._streams}")
        cursor = self._connection.execute(
            text(f"DECLARE stream_{self._streams} NO SCROLL CURSOR FOR {statement}; {fetch}")
        )
        cursor.nextset()
        return self._stretches(cursor, fetch)

    def _stretches(self, cursor: Cursor, fetch: LiteralString) -> Iterator[tuple[Any, ...]]:
        while rows := cursor.fetchall():
            yield from rows
            if len(rows) < STRETCH:
                return
            cursor = self._connection.execute(fetch)
