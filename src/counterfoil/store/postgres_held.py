"""A lock of the server that lives as long as its connection: nobody else holds its key meanwhile, on any host."""

from collections.abc import Generator
from contextlib import contextmanager, suppress

import psycopg

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import asked, connect
from counterfoil.store.postgres_errors import storage_error


@contextmanager
def held(address: PostgresAddress, key: int) -> Generator[bool]:
    """Whether it was free. In an open transaction, so that it also holds behind a pooler that shares sessions.

    Raises StorageError.
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
        yield bool(row[1])
    finally:
        with suppress(psycopg.Error):
            connection.close()  # the server rolls back, and the key is free
