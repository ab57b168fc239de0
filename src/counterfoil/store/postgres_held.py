"""A lock of the server that lives as long as its connection: nobody else holds its key meanwhile, on any host."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import psycopg

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, asked, connect
from counterfoil.store.postgres_errors import storage_error


@contextmanager
def held(address: PostgresAddress, key: int) -> Generator[Callable[[], bool] | None]:
    """None where it was not free, else what asks the server whether it is held still: a round trip, from any thread.

    In an open transaction, so that it also holds behind a pooler that shares sessions. The connection is never made anew:
    the key is free once it has ended, and somebody may have held it meanwhile. Raises StorageError.
    """
    try:
        connection = connect(address)
    except psycopg.Error as problem:
        raise storage_error(problem, address, 0) from problem
    try:
        try:
            connection.autocommit = False
            row = asked(connection, "hold", {"key": key}).fetchone()
        except psycopg.Error as problem:
            raise storage_error(problem, address, 0) from problem
        assert row is not None, "the query gives one row"
        yield (lambda: _answers(connection)) if row[1] else None
    finally:
        with suppress(psycopg.Error):
            connection.close()  # the server rolls back, and the key is free


def _answers(connection: Connection) -> bool:
    """Its transaction is the one that took the key: another could only be begun on another connection."""
    with suppress(psycopg.Error):
        connection.execute("SELECT 1")
        return True
    return False
