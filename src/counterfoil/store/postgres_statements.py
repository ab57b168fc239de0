"""The SQL that every table has alike, as PostgreSQL runs it: a read takes arrays of keys, a write one array for each column."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from counterfoil.store.postgres_arrays import array, arrays, types_of, unnested
from counterfoil.store.statements import CHAIN_COLUMNS
from counterfoil.store.tables import ALL, BY_NAME, ENTRIES, Key, Table


@dataclass(frozen=True, slots=True)
class PostgresStatements:
    """Of one table. `kinds` are the SQL types of the columns, `key_kinds` those of the key."""

    by_key: str
    by_index: dict[str, str]
    all_rows: str
    insert: str
    update: str  # takes all columns, then the key
    delete: str
    kinds: tuple[str, ...]
    key_kinds: tuple[str, ...]


def _quoted(names: tuple[str, ...], before: str = "") -> str:
    return ", ".join(f'{before}"{name}"' for name in names)


def _update(table: Table, columns: tuple[str, ...]) -> str:
    kinds = types_of(table)
    given = unnested([kinds[column] for column in (*columns, *table.key)])
    names = ", ".join(f"c{place}" for place in range(len(columns) + len(table.key)))
    changes = ", ".join(f'"{column}" = given.c{place}' for place, column in enumerate(columns))
    where = " AND ".join(
        f'{table.name}."{part}" = given.c{place}' for place, part in enumerate(table.key, start=len(columns))
    )
    return f"UPDATE {table.name} SET {changes} FROM {given} AS given({names}) WHERE {where}"  # noqa: S608 - names of our own records, never input


def _statements(table: Table) -> PostgresStatements:
    kinds = types_of(table)
    select = f"SELECT {_quoted(table.columns)} FROM {table.name}"  # noqa: S608 - as above
    ordered = f" ORDER BY {_quoted(table.order)}"
    keys = unnested([kinds[part] for part in table.key])
    where = " AND ".join(f'{table.name}."{part}" = given."{part}"' for part in table.key)
    if len(table.key) == 1:
        asked = f'"{table.key[0]}" = ANY(%s::{kinds[table.key[0]]}[])'
    else:
        asked = f"({_quoted(table.key)}) IN (SELECT * FROM {keys})"  # noqa: S608 - as above
    columns = unnested([kinds[column] for column in table.columns])
    return PostgresStatements(
        by_key=f"{select} WHERE {asked}",
        by_index={
            index: f'{select} WHERE "{index}" = ANY(%s::{kinds[index]}[]){ordered}' for index in sorted(table.indexes)
        },
        all_rows=select + ordered,
        insert=f"INSERT INTO {table.name} ({_quoted(table.columns)}) SELECT * FROM {columns}",  # noqa: S608 - as above
        update=_update(table, table.columns),
        delete=f"DELETE FROM {table.name} USING {keys} AS given({_quoted(table.key)}) WHERE {where}",  # noqa: S608 - as above
        kinds=tuple(kinds[column] for column in table.columns),
        key_kinds=tuple(kinds[part] for part in table.key),
    )


STATEMENTS: dict[str, PostgresStatements] = {table.name: _statements(table) for table in (*ALL, ENTRIES)}


@cache
def change_run(columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Only these columns of runs, and the SQL types of its arrays: theirs, and the id's."""
    kinds = types_of(BY_NAME["runs"])
    return _update(BY_NAME["runs"], columns), tuple(kinds[column] for column in (*columns, "run_id"))


# Ordinals follow one another without gaps, which no sequence promises; whoever appends holds the lock of all batches.
APPEND_ENTRIES = (
    f"INSERT INTO entries (ordinal, {_quoted(ENTRIES.columns)}) "  # noqa: S608 - as above
    f"SELECT (SELECT coalesce(max(ordinal), 0) FROM entries) + given.place, {_quoted(ENTRIES.columns, 'given.')} "
    f"FROM {unnested(STATEMENTS['entries'].kinds)} WITH ORDINALITY AS given({_quoted(ENTRIES.columns)}, place)"
)
ADVANCE_RUNS, ADVANCE_KINDS = change_run(CHAIN_COLUMNS)


def asked_by_key(table: Table, keys: Iterable[Key]) -> tuple[str, list[str]]:
    """The statement and its arrays for the rows with these primary keys."""
    statements = STATEMENTS[table.name]
    return statements.by_key, arrays(statements.key_kinds, keys)


def asked_by_index(table: Table, index: str, values: Iterable[str | int]) -> tuple[str, list[str]]:
    """The statement and its array for the rows whose column holds one of the values; index "all" takes none."""
    statements = STATEMENTS[table.name]
    if index == "all":
        return statements.all_rows, []
    return statements.by_index[index], [array(statements.kinds[table.columns.index(index)], values)]
