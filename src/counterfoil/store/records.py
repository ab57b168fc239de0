"""Records made from rows of SQL values. A frozen dataclass's own constructor would be the dearest part of a read."""

from collections.abc import Callable
from typing import Any

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
