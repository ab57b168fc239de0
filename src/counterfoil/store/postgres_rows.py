"""A batch's rows in and out of PostgreSQL: the lock and all reads in one round trip, all writes and the COMMIT in another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.model.installation import InstallationRecord
from counterfoil.store.batch import Batch
from counterfoil.store.leaving import RUNS, Asked, asked_by, changed_rows, figures_left, runs_left
from counterfoil.store.port import Read
from counterfoil.store.postgres_arrays import arrays
from counterfoil.store.postgres_connection import Connection, Cursor, asked, text
from counterfoil.store.postgres_spelling import spelled
from counterfoil.store.postgres_statements import (
    ADVANCE_KINDS,
    ADVANCE_RUNS,
    APPEND_ENTRIES,
    STATEMENTS,
    asked_by_index,
    asked_by_key,
    change_run,
)
from counterfoil.store.queries import sql
from counterfoil.store.records import MAKERS
from counterfoil.store.statements import ADVANCE_INSTALLATION
from counterfoil.store.tables import ALL, BY_RECORD, ENTRIES, Table, Values


@dataclass(frozen=True, slots=True)
class Asking:
    """What a batch has asked for, in the middle of a pipeline; `batch` makes it of the answers."""

    installation: Cursor
    by_key: dict[type[Any], Cursor]
    by_index: dict[tuple[type[Any], str], Cursor]
    wanted: Asked


def ask(connection: Connection, reads: Iterable[Read]) -> Asking:
    """Queue everything that the verbs of a batch named. Behind the lock: each statement sees the newest commit."""
    wanted = keys, values = asked_by(reads)
    return Asking(
        installation=asked(connection, "installation_now"),
        by_key={record: _asked(connection, *asked_by_key(BY_RECORD[record], named)) for record, named in keys.items()},
        by_index={
            (record, index): _asked(connection, *asked_by_index(BY_RECORD[record], index, named))
            for (record, index), named in values.items()
        },
        wanted=wanted,
    )


def loaded(connection: Connection, asking: Asking, clock_us: int | None) -> Batch:
    """The batch, once the answers are there. `clock_us`: None for the server's clock."""
    # Not in the pipeline: the driver ends one with a message that turns off the server's limit for a silent session. This turns it on.
    counters: dict[str, int] = dict(asked(connection, "counters").fetchall())
    row = asking.installation.fetchone()
    assert row is not None, "the query gives one row"
    server_us, *values = row
    installation = None if values[0] is None else InstallationRecord(*values)
    now = server_us if clock_us is None else clock_us
    batch = Batch(
        now=max(now, installation.clock_us) if installation else now,
        installation=installation,
        read_counters=lambda: counters,
        read_chains=lambda: {run_id: (at, head) for run_id, at, head in asked(connection, "other_chains")},
    )
    keys, by_index = asking.wanted
    for record, cursor in asking.by_key.items():
        batch.loaded(record, keys[record], map(MAKERS[BY_RECORD[record].name], cursor))
    for (record, index), cursor in asking.by_index.items():
        batch.loaded_by(record, index, by_index[record, index], map(MAKERS[BY_RECORD[record].name], cursor))
    return batch


def store(connection: Connection, batch: Batch, *, sends: bool) -> None:
    """Queue what the verbs left. The caller holds the transaction and commits."""
    for record in {record for record, _ in batch.dropped}:
        statements = STATEMENTS[BY_RECORD[record].name]
        keys = [key for other, key in batch.dropped if other is record]
        _write(connection, statements.delete, statements.key_kinds, keys)
    touched = {record for record, _ in batch.before}
    for table in ALL:
        if table is RUNS:
            _store_runs(connection, batch)
        elif table.record in touched:
            _store_table(connection, table, batch)
    _write(connection, APPEND_ENTRIES, STATEMENTS["entries"].kinds, [ENTRIES.values(entry) for entry in batch.entries])
    if batch.counted:
        for counter in batch.counters().items():
            _asked(connection, spelled(sql("keep_counter")), counter)
    _store_installation(connection, batch, sends=sends)


def _store_table(connection: Connection, table: Table, batch: Batch) -> None:
    changed = changed_rows(batch, table.record)
    statements = STATEMENTS[table.name]
    new = [table.values(after) for before, after in changed if before is None]
    old = [table.values(after) + table.key_of(after) for before, after in changed if before is not None]
    _write(connection, statements.insert, statements.kinds, new)
    _write(connection, statements.update, statements.kinds + statements.key_kinds, old)


def _store_runs(connection: Connection, batch: Batch) -> None:
    left = runs_left(batch)
    _write(connection, STATEMENTS["runs"].insert, STATEMENTS["runs"].kinds, left.new)
    for columns, rows in left.alike.items():
        _write(connection, *change_run(columns), rows)
    _write(connection, ADVANCE_RUNS, ADVANCE_KINDS, left.advanced)


def _store_installation(connection: Connection, batch: Batch, *, sends: bool) -> None:
    installation = batch.installation
    if installation is None:
        return
    own = installation.installation_id
    if own in batch.moved:
        _asked(connection, spelled(sql("keep_chain")), (own, *batch.moved[own]))
    batches, rolling, in_flight = figures_left(batch, installation, sends=sends)
    if sends:
        _asked(connection, spelled(sql("keep_mark")), (batches, rolling))
    _asked(connection, spelled(ADVANCE_INSTALLATION), (batches, rolling, in_flight, batch.now, own))


def _write(connection: Connection, statement: str, kinds: Sequence[str], rows: Sequence[Values]) -> None:
    if rows:
        _asked(connection, statement, arrays(kinds, rows))


def _asked(connection: Connection, statement: str, given: Sequence[Any]) -> Cursor:
    return connection.execute(text(statement), given)
