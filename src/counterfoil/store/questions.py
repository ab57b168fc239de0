"""How the repositories ask a snapshot: by the names of queries, and by keys and indexes. Each dialect answers in its own way."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from counterfoil.store.driver import Rows
from counterfoil.store.tables import Key, Table

Asked = Mapping[str, Any]


class Questions(Protocol):
    """One snapshot of one dialect. Rows are read inside the block that opened it."""

    def ask(self, name: str, asked: Asked | None = None, /) -> Rows:
        """A named query."""
        ...

    def run(self, statement: str, asked: Asked, /) -> Rows:
        """A statement that was put together of named queries."""
        ...

    def stream(self, name: str, /) -> Rows:
        """A named query without parameters that may give any number of rows: they are fetched as they are read."""
        ...

    def by_key(self, table: Table, keys: Iterable[Key], /) -> Iterable[Any]:
        """The records with these primary keys, in no order."""
        ...

    def by_index(self, table: Table, index: str, values: Iterable[str | int], /) -> Iterable[Any]:
        """The records whose column holds one of the values, or all of them, in the table's order."""
        ...
