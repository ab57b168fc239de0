"""A SQLite snapshot, as the repositories ask it."""

from collections.abc import Iterable
from typing import Any

from counterfoil.store.driver import Connection, Rows
from counterfoil.store.queries import sql
from counterfoil.store.questions import Asked
from counterfoil.store.sqlite_rows import rows_by_index, rows_by_key
from counterfoil.store.tables import Key, Table


class SqliteQuestions:
    """See `store.questions.Questions`. SQLite fetches every row only when it is read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, name: str, asked: Asked | None = None, /) -> Rows:
        """A named query."""
        return self._connection.execute(sql(name), asked)

    def run(self, statement: str, asked: Asked, /) -> Rows:
        """A statement that was put together."""
        return self._connection.execute(statement, asked)

    def stream(self, name: str, /) -> Rows:
        """A named query with any number of rows."""
        return self._connection.execute(sql(name))

    def by_key(self, table: Table, keys: Iterable[Key], /) -> Iterable[Any]:
        """The records with these keys."""
        return rows_by_key(self._connection, table, keys)

    def by_index(self, table: Table, index: str, values: Iterable[str | int], /) -> Iterable[Any]:
        """The records found by an index."""
        return rows_by_index(self._connection, table, index, values)
