"""The settings under which a SQLite file is written here, read from a connection opened as the writer's is."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from counterfoil.store.driver import pragma, run
from counterfoil.store.sqlite_file import open_reader, open_writer, storage_error

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}
_WAL_WRITE_LOCK = 120  # the byte of the -shm file that whoever writes has locked


@dataclass(frozen=True, slots=True)
class SqliteSettings:
    """`write_lock_free`: whether the write lock could be taken at once. `bytes`: the file and its log."""

    library: str
    journal_mode: str
    synchronous: str
    fullfsync: bool
    schema_version: int
    write_lock_free: bool
    bytes: int


def live_settings(path: Path) -> SqliteSettings:
    """Raises Refused or StorageError as opening does. Takes the write lock for a moment, if it is free."""
    connection = open_writer(path, create=False, vfs=None, busy_seconds=1.0)
    try:
        return SqliteSettings(
            library=apsw.sqlite_lib_version(),
            journal_mode=str(pragma(connection, "journal_mode")),
            synchronous=_SYNCHRONOUS.get(int(pragma(connection, "synchronous")), "unknown"),
            fullfsync=bool(pragma(connection, "fullfsync")),
            schema_version=int(pragma(connection, "user_version")),
            write_lock_free=_write_lock_free(connection),
            bytes=sum(file.stat().st_size for file in (path, _beside(path, "-wal")) if file.exists()),
        )
    finally:
        with suppress(apsw.Error):
            connection.close()


def schema_version(path: Path) -> int:
    """The schema that the file has now. Raises StorageError."""
    try:
        connection = open_reader(path, vfs=None, busy_seconds=1.0)
        try:
            return int(pragma(connection, "user_version"))
        finally:
            connection.close()
    except apsw.Error as problem:
        raise storage_error(problem, 1.0) from problem


def lock_holders(path: Path) -> list[int]:
    """Process ids that hold the database's write lock on this host, as the system tells; empty where it does not."""
    try:
        shared = _beside(path, "-shm").stat().st_ino
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return sorted({pid for pid in (_holder(line, shared) for line in lines) if pid is not None})


def _holder(line: str, inode: int) -> int | None:
    """`1: POSIX ADVISORY WRITE 4711 fd:01:1234 120 120`; a process that waits has `->` and holds nothing."""
    words = line.split()
    if len(words) < 8 or words[3] != "WRITE" or words[5].rpartition(":")[2] != str(inode):
        return None
    first, last = int(words[6]), 1 << 63 if words[7] == "EOF" else int(words[7])
    return int(words[4]) if first <= _WAL_WRITE_LOCK <= last and int(words[4]) > 0 else None


def _write_lock_free(connection: apsw.Connection) -> bool:
    connection.set_busy_timeout(0)
    try:
        run(connection, "BEGIN IMMEDIATE")
    except apsw.BusyError:
        return False
    run(connection, "ROLLBACK")
    return True


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
