"""What a database of a test holds, read from outside in one snapshot: a process that is frozen or dead hinders nobody."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from counterfoil.engine.clock import SystemClock
from counterfoil.store.port import Reader
from counterfoil.store.sqlite import SqliteDatabase


@contextmanager
def stored(file: Path) -> Generator[Reader]:
    """A reader over a SQLite file. Raises StorageError where there is none."""
    database = SqliteDatabase(file, SystemClock())
    try:
        with database.reader() as reader:
            yield reader
    finally:
        database.close()
