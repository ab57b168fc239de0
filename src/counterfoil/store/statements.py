"""The SQL that every table has alike: read by key or index, insert, update. Made from the records' own names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from counterfoil.store.tables import ALL, ENTRIES, Table

# What an append alone changes of a run.
CHAIN_COLUMNS = ("sequence", "head", "updated_at")


@dataclass(frozen=True, slots=True)
class Statements:
    """SQLite statements of one table. A read takes one parameter: a JSON array of keys or values."""

    by_key: str
    by_index: dict[str, str]
    all_rows: str
    insert: str
    update: str  # takes all columns, then the key
    delete: str  # takes the key


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def update(table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    """An UPDATE of these columns of the row with this key."""
    changes = ", ".join(f'"{column}" = ?' for column in columns)
    where = " AND ".join(f'"{part}" = ?' for part in key)
    return f"UPDATE {table} SET {changes} WHERE {where}"  # noqa: S608 - names of our own records, never input


def _statements(table: Table) -> Statements:
    select = f"SELECT {_quoted(table.columns)} FROM {table.name}"  # noqa: S608 - as above
    ordered = f" ORDER BY {_quoted(table.order)}"
    if len(table.key) == 1:
        asked = f'"{table.key[0]}" IN (SELECT value FROM json_each(?))'  # noqa: S608 - as above
    else:
        parts = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(table.key)))
        asked = f"({_quoted(table.key)}) IN (SELECT {parts} FROM json_each(?))"  # noqa: S608 - as above
    places = ", ".join("?" * len(table.columns))
    return Statements(
        by_key=f"{select} WHERE {asked}",
        by_index={
            index: f'{select} WHERE "{index}" IN (SELECT value FROM json_each(?)){ordered}'  # noqa: S608 - as above
            for index in sorted(table.indexes)
        },
        all_rows=select + ordered,
        insert=f"INSERT INTO {table.name} ({_quoted(table.columns)}) VALUES ({places})",  # noqa: S608 - as above
        update=update(table.name, table.columns, table.key),
        delete=f"DELETE FROM {table.name} WHERE "  # noqa: S608 - as above
        + " AND ".join(f'"{part}" = ?' for part in table.key),
    )


STATEMENTS: dict[str, Statements] = {table.name: _statements(table) for table in (*ALL, ENTRIES)}


@cache
def change_run(columns: tuple[str, ...]) -> str:
    """Only the columns that differ: SQLite writes each index anew whose column is named, changed or not."""
    return update("runs", columns, ("run_id",))


def _sized(make: Callable[[int], str]) -> tuple[tuple[int, str], ...]:
    """One statement for so many rows at once, the largest first; the sizes add up to any number of rows."""
    return tuple((size, make(size)) for size in (256, 64, 16, 4, 1))


def _rows(columns: int, rows: int) -> str:
    return ", ".join([f"({', '.join('?' * columns)})"] * rows)


def _append(rows: int) -> str:
    columns = ENTRIES.columns
    return f"INSERT INTO entries ({_quoted(columns)}) VALUES {_rows(len(columns), rows)}"  # noqa: S608 - as above


def _advance(rows: int) -> str:
    if rows == 1:
        return update("runs", CHAIN_COLUMNS, ("run_id",))
    changes = ", ".join(f'"{column}" = moved.column{place}' for place, column in enumerate(CHAIN_COLUMNS, start=1))
    last = len(CHAIN_COLUMNS) + 1
    return (
        f"UPDATE runs SET {changes} FROM (VALUES {_rows(last, rows)}) AS moved "  # noqa: S608 - as above
        f"WHERE runs.run_id = moved.column{last}"
    )


# Every step passes through these two: many rows are one statement.
APPEND_ENTRIES = _sized(_append)
ADVANCE_RUNS = _sized(_advance)
ADVANCE_INSTALLATION = update(
    "installation", ("batches", "rolling", "in_flight_batch", "clock_us"), ("installation_id",)
)
