"""Opening a SQLite file: is it ours, which schema has it, and the settings under which it keeps its promise."""

from contextlib import suppress
from pathlib import Path

import apsw

from counterfoil.model.errors import Refused
from counterfoil.store.driver import one, pragma, run
from counterfoil.store.migrate import APPLICATION_ID, migrations, newest
from counterfoil.store.port import StorageError
from counterfoil.store.sqlite_waiting import wait_for_locks

_MAGIC = b"SQLite format 3\x00"
_FLUSH_CODES = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


def storage_error(problem: apsw.Error, busy_seconds: float) -> StorageError:
    """What a failure of SQLite is called here."""
    if isinstance(problem, apsw.FullError):
        return StorageError("disk_full", problem=str(problem))
    if isinstance(problem, (apsw.BusyError, apsw.LockedError)):
        return StorageError("database_busy", seconds=f"{busy_seconds:g}", holder="")
    if isinstance(problem, apsw.IOError) and getattr(problem, "extendedresult", 0) in _FLUSH_CODES:
        return StorageError("storage_failed", problem=f"a flush to disk failed ({problem})")
    error = StorageError("storage_failed", problem=str(problem))
    error.refused_row = isinstance(problem, apsw.ConstraintError)
    return error


def check_location(path: Path, *, create: bool) -> None:
    """Refuse what cannot be a database of ours, without opening it: `not_ours`, `no_database`, `storage_failed`."""
    if path.is_dir():
        raise Refused("not_ours", location=str(path))
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except FileNotFoundError:
        start = b""
        if create and not path.parent.is_dir():
            raise StorageError("storage_failed", problem=f"there is no folder {path.parent}") from None
    except OSError as problem:
        raise StorageError("storage_failed", problem=f"{path} cannot be read: {problem.strerror}") from problem
    if not start:
        if not create:
            raise Refused("no_database", location=str(path))
    elif start != _MAGIC:
        raise Refused("not_ours", location=str(path))


def open_writer(path: Path, *, create: bool, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    """The one connection that writes, with the schema in place. Raises Refused or StorageError; nothing stays open."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    try:
        connection = apsw.Connection(str(path), flags=flags, vfs=vfs)
    except apsw.Error as problem:
        raise storage_error(problem, busy_seconds) from problem
    try:
        _prepare(connection, path, create=create, busy_seconds=busy_seconds)
    except BaseException as problem:
        with suppress(apsw.Error):
            connection.close()
        if isinstance(problem, apsw.NotADBError):
            raise Refused("not_ours", location=str(path)) from problem
        if isinstance(problem, apsw.Error):
            raise storage_error(problem, busy_seconds) from problem
        raise
    return connection


def open_reader(path: Path, *, vfs: str | None, busy_seconds: float) -> apsw.Connection:
    """A connection that cannot write."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    connection.set_busy_timeout(int(busy_seconds * 1000))
    pragma(connection, "query_only", True)
    # A list looks up thousands of rows by key; 2 MiB, as by default, hold little of a large ledger's indexes.
    pragma(connection, "cache_size", -32 * 1024)
    return connection


def _prepare(connection: apsw.Connection, path: Path, *, create: bool, busy_seconds: float) -> None:
    wait_for_locks(connection, busy_seconds)
    found = _identify(connection, path, create=create)
    if connection.readonly("main"):
        raise StorageError("storage_failed", problem=f"{path} may not be written")
    if pragma(connection, "journal_mode", "wal") != "wal":
        raise StorageError("storage_failed", problem=f"{path} cannot have a write-ahead log")
    pragma(connection, "synchronous", "full")
    pragma(connection, "fullfsync", True)
    pragma(connection, "checkpoint_fullfsync", True)
    pragma(connection, "foreign_keys", True)
    pragma(connection, "wal_autocheckpoint", 0)  # the database does it itself, so that a failed flush is seen
    if found < newest():
        _migrate(connection, path, create=create)


def _identify(connection: apsw.Connection, path: Path, *, create: bool) -> int:
    """The schema version, 0 for an empty file. Reads only."""
    application, version = pragma(connection, "application_id"), pragma(connection, "user_version")
    if application == APPLICATION_ID:
        if version > newest():
            raise Refused("newer_schema", found=version, known=newest())
        return int(version)
    if application != 0 or version != 0 or _tables(connection):
        raise Refused("not_ours", location=str(path))
    if not create:
        raise Refused("no_database", location=str(path))
    return 0


def _tables(connection: apsw.Connection) -> int:
    counted = one(connection, "SELECT count(*) FROM sqlite_master")
    return counted[0] if counted else 0


def _migrate(connection: apsw.Connection, path: Path, *, create: bool) -> None:
    run(connection, "BEGIN IMMEDIATE")
    try:
        done = _identify(connection, path, create=create)  # again: another process may have been first
        for step in migrations()[done:]:
            run(connection, step.sql)
            pragma(connection, "user_version", step.number)
        pragma(connection, "application_id", APPLICATION_ID)
        run(connection, "COMMIT")
    except BaseException:
        with suppress(apsw.Error):
            run(connection, "ROLLBACK")
        raise
