"""Connections to one ledger on a server: opened when they are needed, kept while idle, let go when they broke."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any

import psycopg
from psycopg import errors, pq

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, broken, connect, plain, quoted, text
from counterfoil.store.postgres_errors import storage_error

PAUSE_S = 0.1
KEPT_IDLE = 4

_LATER = (errors.CannotConnectNow, errors.TooManyConnections, errors.AdminShutdown, errors.CrashShutdown)


def reach(address: PostgresAddress, seconds: float) -> Connection:
    """A connection, waited for while a server starts again. Raises psycopg.Error: at once where waiting cannot help.

    A host that drops packets answers no attempt: each may last as long as the whole at most, so it takes less than twice `seconds`.
    """
    over = Event()
    patience = Timer(seconds, over.set)
    patience.daemon = True
    patience.start()
    try:
        while True:
            try:
                return connect(address, seconds)
            except psycopg.OperationalError as problem:
                # libpq says nothing of a refused connection but its words: what has a code and is not listed is an answer.
                if over.is_set() or (problem.sqlstate is not None and not isinstance(problem, _LATER)):
                    raise
                over.wait(PAUSE_S)
    finally:
        patience.cancel()


class ReadingPool:
    """Connections that look. May be used from several threads. Raises StorageError."""

    def __init__(self, address: PostgresAddress, schema: str, busy_seconds: float) -> None:
        self._address = address
        self._busy_seconds = busy_seconds
        place = f"SET LOCAL search_path TO {quoted(schema)}"
        self._begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {place}"
        self._once = f"BEGIN READ ONLY; {place}; {{}}; COMMIT"
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def snapshot(self) -> Generator[Connection, None, None]:
        """A transaction that sees one moment, and cannot write."""
        connection = None
        try:
            connection = self._begun(self._begin)[0]
            yield connection
        except psycopg.Error as problem:
            raise storage_error(problem, self._address, self._busy_seconds) from problem
        finally:
            if connection is not None:
                self._hand_back(connection)

    def one(self, name: str) -> tuple[Any, ...] | None:
        """The one row of a named query without parameters, by one round trip."""
        try:
            connection, cursor = self._begun(self._once.format(plain(name)))
        except psycopg.Error as problem:
            raise storage_error(problem, self._address, self._busy_seconds) from problem
        while cursor.description is None and cursor.nextset():
            pass
        row = cursor.fetchone()
        self._hand_back(connection)
        return row

    def close(self) -> None:
        """Close all that are idle; what is in use is closed when it is handed back."""
        self._closed = True
        self._drop_idle()

    def _begun(self, statements: str) -> tuple[Connection, psycopg.Cursor[tuple[Any, ...]]]:
        """On an idle connection; where that broke meanwhile, on a new one. Nothing was asked yet, so nothing can be lost."""
        with suppress(IndexError):
            connection = self._idle.pop()
            try:
                return connection, connection.execute(text(statements))
            except psycopg.OperationalError:
                connection.close()
                self._drop_idle()
            except BaseException:
                connection.close()
                raise
        connection = connect(self._address)
        try:
            return connection, connection.execute(text(statements))
        except BaseException:
            connection.close()
            raise

    def _hand_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status != pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
            if not broken(connection) and not self._closed and len(self._idle) < KEPT_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()
