"""Schemas with names that nobody has, in a database that holds other things: made to try something, and gone at the end."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, asked, open_connection, quoted, text
from counterfoil.store.postgres_errors import storage_error
from counterfoil.store.postgres_schema import prepare
from counterfoil.store.tables import ALL

SCRATCH = "scratch_"
# In the order in which rows may be put in: what refers to another table comes after it.
TABLES = (*(table.name for table in ALL), "entries", "chains", "marks", "counters", "writers")


def scratch_address(address: PostgresAddress) -> PostgresAddress:
    """A schema that is not there yet. Raises StorageError."""
    with _connected(address) as connection:
        return address.in_schema(_new_name(connection))


@contextmanager
def scratch_schema(address: PostgresAddress) -> Generator[PostgresAddress, None, None]:
    """As `scratch_address`; it goes at the end. Raises StorageError."""
    scratch = scratch_address(address)
    try:
        yield scratch
    finally:
        drop(scratch)


def drop(scratch: PostgresAddress) -> None:
    """Take it away with all that is in it; it need not be there. Raises StorageError."""
    with _connected(scratch) as connection:
        connection.execute(text(f"DROP SCHEMA IF EXISTS {quoted(_name(scratch))} CASCADE"))


def renamed(scratch: PostgresAddress) -> PostgresAddress:
    """The same schema under another such name. Raises StorageError."""
    with _connected(scratch) as connection:
        name = _new_name(connection)
        connection.execute(text(f"ALTER SCHEMA {quoted(_name(scratch))} RENAME TO {quoted(name)}"))
    return scratch.in_schema(name)


def empty(scratch: PostgresAddress) -> None:
    """Take every row out: that is much faster than to make its tables anew. Raises StorageError."""
    with _connected(scratch) as connection, connection.transaction():
        _take_out(connection, _name(scratch))


def fill(scratch: PostgresAddress, source: PostgresAddress) -> None:
    """Let it hold the rows that another schema of this database holds, as they are at one moment, and no others. Raises StorageError.

    Its tables are made where they are not there.
    """
    with _connected(scratch) as connection:
        prepare(connection, scratch, create=True, busy_seconds=0)
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            _take_out(connection, _name(scratch))
            for table in TABLES:
                given = {"schema": _name(source), "table": table}
                columns, counted = asked(connection, "columns_to_copy", given).fetchall()[0]
                names = ", ".join(map(quoted, columns))
                order = "ORDER BY rowid" if counted else ""  # which is given anew, in the same order
                rows = f"SELECT {names} FROM {quoted(_name(source))}.{table} {order}"  # noqa: S608 - names of our own, never input
                connection.execute(text(f"INSERT INTO {quoted(_name(scratch))}.{table} ({names}) {rows}"))


def counts(scratch: PostgresAddress) -> dict[str, int]:
    """How many rows each table holds that holds any. Raises StorageError."""
    counted = [f"SELECT '{table}', count(*) FROM {quoted(_name(scratch))}.{table}" for table in TABLES]  # noqa: S608 - as above
    with _connected(scratch) as connection:
        return {table: rows for table, rows in connection.execute(text(" UNION ALL ".join(counted))) if rows}


def refuse_writes(scratch: PostgresAddress) -> None:
    """From here on the server answers every batch that it has no room (disk_full), as one whose disk is full does. Raises StorageError."""
    with _connected(scratch) as connection, connection.transaction():
        connection.execute(text(f"SET LOCAL search_path TO {quoted(_name(scratch))}"))
        connection.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no space left, as this drill has it' USING ERRCODE = 'disk_full'; END $$"
        )
        connection.execute(
            "CREATE TRIGGER no_room BEFORE INSERT ON writers FOR EACH STATEMENT EXECUTE FUNCTION no_room()"
        )


def allow_writes(scratch: PostgresAddress) -> None:
    """There is room again. Raises StorageError."""
    with _connected(scratch) as connection, connection.transaction():
        connection.execute(text(f"SET LOCAL search_path TO {quoted(_name(scratch))}"))
        connection.execute("DROP FUNCTION no_room() CASCADE")


def _take_out(connection: Connection, schema: str) -> None:
    for table in reversed(TABLES):
        connection.execute(text(f"DELETE FROM {quoted(schema)}.{table}"))  # noqa: S608 - as above


def _name(scratch: PostgresAddress) -> str:
    """Its schema, which must be one that was made to be tried: everything in it is lost."""
    assert scratch.schema is not None and scratch.schema.startswith(SCRATCH), "only what was made to be tried"
    return scratch.schema


def _new_name(connection: Connection) -> str:
    return f"{SCRATCH}{asked(connection, 'new_writer').fetchall()[0][0].replace('-', '')}"


@contextmanager
def _connected(address: PostgresAddress) -> Generator[Connection, None, None]:
    connection = open_connection(address, 0)
    try:
        yield connection
    except psycopg.Error as problem:
        raise storage_error(problem, address, 0) from problem
    finally:
        connection.close()
