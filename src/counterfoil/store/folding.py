"""Building the evidence tables again from the journal alone."""

from collections.abc import Iterator
from typing import Any

from counterfoil.store.journaling import Changes
from counterfoil.store.tables import BY_NAME, Table, joined, plain

WHOLE_ROW = "*"


class Rebuilt:
    """What the tables must hold, by the changes that entries carry."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, dict[str, Any]]] = {}

    def take(self, changes: Changes) -> None:
        """The changes of the next entry."""
        for name, rows in changes.items():
            known = self._rows.setdefault(name, {})
            for key, columns in rows.items():
                known.setdefault(key, {}).update(columns)

    def knows(self, table: str, key: str) -> bool:
        """Whether the journal ever made this row."""
        return key in self._rows.get(table, {})

    def record(self, table: Table, key: str) -> Any | None:
        """One row as it stands by now; None where the journal has not made it, or not as this code can read it."""
        columns = self._rows.get(table.name, {}).get(key)
        if columns is None:
            return None
        try:
            return table.row(tuple(columns.get(column, table.added.get(column)) for column in table.columns))
        except (TypeError, ValueError):
            return None

    def records(self, table: Table) -> list[Any]:
        """Every row of a small table, as it stands by now."""
        found = [self.record(table, key) for key in self._rows.get(table.name, {})]
        return [record for record in found if record is not None]

    def compare(self, table: Table, rows: Iterator[Any]) -> Iterator[tuple[str, str, str]]:
        """(table, key, column) of all that differs; column `*` for a row that is only there, or only here."""
        wanted = dict(self._rows.get(table.name, {}))
        for row in rows:
            key = joined(table.key_of(row))
            columns = wanted.pop(key, None)
            if columns is None:
                yield table.name, key, WHOLE_ROW
                continue
            for column, value in zip(table.journaled, table.evidence_of(row), strict=True):
                if columns.get(column, table.added.get(column)) != plain(value):
                    yield table.name, key, column
        for key in wanted:
            yield table.name, key, WHOLE_ROW

    def unknown_tables(self) -> Iterator[tuple[str, str, str]]:
        """Rows of tables that this code does not have."""
        for name, rows in self._rows.items():
            if name not in BY_NAME:
                for key in rows:
                    yield name, key, WHOLE_ROW
