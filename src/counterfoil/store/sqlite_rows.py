"""A batch's rows in and out of SQLite: one query per table and index, one array statement per table and shape."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from counterfoil.model.installation import InstallationRecord
from counterfoil.store.batch import Batch
from counterfoil.store.driver import Connection
from counterfoil.store.leaving import RUNS, asked_by, changed_rows, figures_left, runs_left
from counterfoil.store.port import Read
from counterfoil.store.queries import sql
from counterfoil.store.records import MAKERS
from counterfoil.store.statements import (
    ADVANCE_INSTALLATION,
    ADVANCE_RUNS,
    APPEND_ENTRIES,
    STATEMENTS,
    change_run,
)
from counterfoil.store.tables import ALL, BY_RECORD, ENTRIES, Key, Table, Values


def read_installation(connection: Connection) -> InstallationRecord | None:
    """The one row, or None."""
    values = connection.execute(sql("installation")).fetchone()
    return None if values is None else InstallationRecord(*values)


def load(connection: Connection, reads: Iterable[Read], clock_us: int) -> Batch:
    """Everything the verbs of a batch named, read inside its transaction."""
    installation = read_installation(connection)
    batch = Batch(
        now=max(clock_us, installation.clock_us) if installation else clock_us,
        installation=installation,
        read_counters=lambda: dict(connection.execute(sql("counters"))),
        read_chains=lambda: {run_id: (at, head) for run_id, at, head in connection.execute(sql("other_chains"))},
    )
    keys, values = asked_by(reads)
    for record, wanted in keys.items():
        batch.loaded(record, wanted, rows_by_key(connection, BY_RECORD[record], wanted))
    for (record, index), wanted in values.items():
        batch.loaded_by(record, index, wanted, rows_by_index(connection, BY_RECORD[record], index, wanted))
    return batch


def rows_by_key(connection: Connection, table: Table, keys: Iterable[Key]) -> Iterable[Any]:
    """The rows with these primary keys, in no order."""
    asked = [key[0] for key in keys] if len(table.key) == 1 else [list(key) for key in keys]
    return map(MAKERS[table.name], connection.execute(STATEMENTS[table.name].by_key, (json.dumps(asked),)))


def rows_by_index(connection: Connection, table: Table, index: str, values: Iterable[str | int]) -> Iterable[Any]:
    """The rows whose column holds one of the values, or all rows, in the table's order."""
    statements = STATEMENTS[table.name]
    if index == "all":
        return map(MAKERS[table.name], connection.execute(statements.all_rows))
    return map(MAKERS[table.name], connection.execute(statements.by_index[index], (json.dumps(list(values)),)))


def store(connection: Connection, batch: Batch, *, sends: bool) -> None:
    """Write what the verbs left. The caller holds the transaction and commits."""
    if batch.dropped:
        _drop(connection, batch)
    touched = {record for record, _ in batch.before}
    for table in ALL:
        if table is RUNS:
            _store_runs(connection, batch)
        elif table.record in touched:
            _store_table(connection, table, batch)
    _in_parts(connection, APPEND_ENTRIES, [ENTRIES.values(entry) for entry in batch.entries])
    if batch.counted:
        connection.executemany(sql("keep_counter"), batch.counters().items())
    _store_installation(connection, batch, sends=sends)


def _store_table(connection: Connection, table: Table, batch: Batch) -> None:
    changed = changed_rows(batch, table.record)
    statements = STATEMENTS[table.name]
    new = [table.values(after) for before, after in changed if before is None]
    old = [table.values(after) + table.key_of(after) for before, after in changed if before is not None]
    _many(connection, statements.insert, new)
    _many(connection, statements.update, old)


def _drop(connection: Connection, batch: Batch) -> None:
    for record in {record for record, _ in batch.dropped}:
        table = BY_RECORD[record]
        _many(connection, STATEMENTS[table.name].delete, [key for other, key in batch.dropped if other is record])


def _store_runs(connection: Connection, batch: Batch) -> None:
    left = runs_left(batch)
    _many(connection, STATEMENTS["runs"].insert, left.new)
    for columns, rows in left.alike.items():
        _many(connection, change_run(columns), rows)
    _in_parts(connection, ADVANCE_RUNS, left.advanced)


def _store_installation(connection: Connection, batch: Batch, *, sends: bool) -> None:
    installation = batch.installation
    if installation is None:
        return
    own = installation.installation_id
    if own in batch.moved:
        connection.execute(sql("keep_chain"), (own, *batch.moved[own]))
    batches, rolling, in_flight = figures_left(batch, installation, sends=sends)
    if sends:
        connection.execute(sql("keep_mark"), (batches, rolling))
    connection.execute(ADVANCE_INSTALLATION, (batches, rolling, in_flight, batch.now, own))


def _in_parts(connection: Connection, sized: Sequence[tuple[int, str]], rows: Sequence[Values]) -> None:
    """Write rows by few statements of many rows each: every statement gives up the interpreter and waits to get it back."""
    done = 0
    for size, statement in sized:
        while len(rows) - done >= size:
            connection.execute(statement, tuple(chain.from_iterable(rows[done : done + size])))
            done += size


def _many(connection: Connection, statement: str, rows: Sequence[Values]) -> None:
    if rows:
        connection.executemany(statement, rows)
