"""Columns of rows as PostgreSQL arrays: one parameter for each column, however many rows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_type_hints

from counterfoil.store.tables import Table, Values

_TYPES = {int: "bigint", bytes: "bytea", float: "double precision"}


def types_of(table: Table) -> dict[str, str]:
    """The SQL type of each column, from the record's own hints."""
    hints = get_type_hints(table.record)
    return {column: _type_of(hints[column]) for column in table.columns}


def _type_of(hint: Any) -> str:
    kinds = [kind for kind in getattr(hint, "__args__", (hint,)) if kind is not type(None)]
    return _TYPES.get(kinds[0], "text")


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _integer(value: int) -> str:
    return f"{value:d}"  # a bool as 0 or 1, as SQLite keeps it


def _bytes(value: bytes) -> str:
    return f'"\\\\x{value.hex()}"'


def _float(value: float) -> str:
    return repr(float(value))


_ELEMENTS: dict[str, Callable[[Any], str]] = {
    "text": _text,
    "bigint": _integer,
    "bytea": _bytes,
    "double precision": _float,
}


def array(kind: str, values: Iterable[Any]) -> str:
    """The text of an array of one SQL type."""
    element = _ELEMENTS[kind]
    return "{" + ",".join(["NULL" if value is None else element(value) for value in values]) + "}"


def arrays(kinds: Sequence[str], rows: Iterable[Values]) -> list[str]:
    """One array for each column of the rows."""
    return [array(kind, values) for kind, values in zip(kinds, zip(*rows, strict=True), strict=True)]


def unnested(kinds: Iterable[str]) -> str:
    """A FROM item that gives the rows of such arrays back."""
    return f"unnest({', '.join(f'%s::{kind}[]' for kind in kinds)})"
