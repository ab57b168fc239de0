"""The SQL that every table has alike: read by key or index, insert, update. Made from the records' own names."""

from dataclasses import dataclass

from counterfoil.store.tables import ALL, ENTRIES, Table

# What an append alone changes of a run, and what a lease changes besides: small statements that touch few indexes.
CHAIN_COLUMNS = ("sequence", "head", "updated_at")
LEASE_COLUMNS = (*CHAIN_COLUMNS, "fence", "worker_id", "lease_until", "executing")


@dataclass(frozen=True, slots=True)
class Statements:
    """SQLite statements of one table. A read takes one parameter: a JSON array of keys or values."""

    by_key: str
    by_index: dict[str, str]
    all_rows: str
    insert: str
    update: str  # takes all columns, then the key


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
    )


STATEMENTS: dict[str, Statements] = {table.name: _statements(table) for table in (*ALL, ENTRIES)}

ADVANCE_RUN = update("runs", CHAIN_COLUMNS, ("run_id",))
LEASE_RUN = update("runs", LEASE_COLUMNS, ("run_id",))
ADVANCE_INSTALLATION = update(
    "installation", ("batches", "rolling", "in_flight_batch", "clock_us"), ("installation_id",)
)
