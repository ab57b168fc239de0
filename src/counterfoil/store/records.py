"""Records made from rows of SQL values. A frozen dataclass's own constructor would be the dearest part of a read."""

from collections.abc import Callable
from typing import Any, TypeVar

from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.tables import ALL, ENTRIES, Table, Values


def _maker(table: Table) -> Callable[[Values], Any]:
    """Sets the slots directly, past the check that keeps a finished record from changing."""
    record, new = table.record, object.__new__
    setters = tuple(getattr(record, column).__set__ for column in table.columns)
    enums = tuple(
        (place, setters[place], kind, {member.value: member for member in kind}) for place, kind in table.enums
    )

    def make(values: Values) -> Any:
        row = new(record)
        for keep, value in zip(setters, values, strict=True):
            keep(row, value)
        for place, keep, kind, members in enums:
            value = values[place]
            if value is not None:
                keep(row, members.get(value) or kind(value))  # the second raises, and names what it does not know
        return row

    return make


MAKERS: dict[str, Callable[[Values], Any]] = {table.name: _maker(table) for table in (*ALL, ENTRIES)}
"""By table: a record from the values of its columns, in their order."""

R = TypeVar("R")
_SETTERS = {table.record: {c: getattr(table.record, c).__set__ for c in table.columns} for table in (*ALL, ENTRIES)}
_VALUES = {table.record: (table.values, tuple(_SETTERS[table.record].values())) for table in (*ALL, ENTRIES)}


def changed(row: R, **columns: Any) -> R:
    """As `dataclasses.replace`, for rows that are changed at every commit."""
    record = type(row)
    values, setters = _VALUES[record]
    copy = object.__new__(record)
    for keep, value in zip(setters, values(row), strict=True):
        keep(copy, value)
    named = _SETTERS[record]
    for column, value in columns.items():
        named[column](copy, value)
    return copy


def begun(run_id: str, sequence: int, kind: EntryKind, position: str | None, name: str | None, at: int) -> Entry:
    """An entry with an empty body and digest, for `finish`. Nobody but its verb has seen it until then."""
    entry = object.__new__(Entry)
    for keep, value in zip(_BEGUN, (run_id, sequence, kind, position, name, "", at, b""), strict=True):
        keep(entry, value)
    return entry


def finish(entry: Entry, body: str, digest: bytes) -> None:
    """Give an entry its body and digest, once."""
    _SET_BODY(entry, body)
    _SET_DIGEST(entry, digest)


_BEGUN = tuple(_SETTERS[Entry].values())
_SET_BODY, _SET_DIGEST = _SETTERS[Entry]["body"], _SETTERS[Entry]["digest"]
