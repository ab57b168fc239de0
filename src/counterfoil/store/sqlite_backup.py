"""A copy of a SQLite ledger while it is in use: one snapshot, page by page, flushed."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from counterfoil.store.driver import one, pragma, run
from counterfoil.store.durable_file import failures_of, flush_folder
from counterfoil.store.sqlite_file import open_reader, storage_error

PAGES = 2_000  # between two calls of `told`
BUSY_SECONDS = 10.0


def copy_database(path: Path, to: Path, told: Callable[[int, int], None]) -> None:
    """Write the ledger as it stands now to a file that is not there yet. `told` hears (pages left, pages in all).

    Workers go on meanwhile: what they commit is not in it. Raises StorageError.
    """
    try:
        with (
            closing(open_reader(path, vfs=None, busy_seconds=BUSY_SECONDS)) as source,
            closing(apsw.Connection(str(to))) as target,
        ):
            # The snapshot is held over all steps: without it SQLite begins anew with every commit of a worker.
            run(source, "BEGIN")
            one(source, "SELECT count(*) FROM sqlite_schema")  # the read begins the snapshot
            with target.backup("main", source, "main") as copying:
                while not copying.done:
                    copying.step(PAGES)
                    told(copying.remaining, copying.page_count)
            run(source, "COMMIT")
            # One file and no log beside it, so that what is kept is what was counted.
            pragma(target, "journal_mode", "DELETE")
    except apsw.Error as problem:
        raise storage_error(problem, BUSY_SECONDS) from problem
    with failures_of("the backup"):
        with to.open("rb+") as file:
            os.fsync(file.fileno())
        flush_folder(to.parent)


def sound_file(path: Path) -> str | None:
    """None for a file that SQLite finds whole, else the first thing that it finds wrong."""
    try:
        with closing(open_reader(path, vfs=None, busy_seconds=BUSY_SECONDS)) as connection:
            found = one(connection, "PRAGMA integrity_check(1)")
    except apsw.Error as problem:
        return str(problem)
    return None if found == ("ok",) else str(found)
