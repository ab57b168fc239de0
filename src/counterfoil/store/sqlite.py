"""The embedded database: one SQLite file with a write-ahead log, one writer, flushed at every commit."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Protocol

import apsw

from counterfoil.model.errors import Refused
from counterfoil.model.journal import GENESIS
from counterfoil.store.batch import Batch
from counterfoil.store.driver import one, pragma, run
from counterfoil.store.leaving import decide
from counterfoil.store.port import Hooks, Mark, Outcome, StorageError, Verb
from counterfoil.store.queries import sql
from counterfoil.store.reader import SqlReader
from counterfoil.store.sqlite_file import check_location, open_reader, open_writer, storage_error
from counterfoil.store.sqlite_questions import SqliteQuestions
from counterfoil.store.sqlite_rows import load, store

CHECKPOINT_PAGES = 4000  # of 4 KiB: the write-ahead log stays about this long


class Clock(Protocol):
    """Where time comes from. Microseconds since 1970 UTC."""

    def now_us(self) -> int:
        """One reading."""
        ...


class SqliteDatabase:
    """A database of ours in one file.

    `create` makes it where there is none. `vfs` names another file layer. Raises Refused (not_ours, newer_schema,
    no_database) or StorageError. `apply` is for one thread at a time; everything else may be called from any.
    """

    def __init__(
        self,
        path: Path | str,
        clock: Clock,
        *,
        create: bool = False,
        hooks: Hooks | None = None,
        vfs: str | None = None,
        busy_seconds: float = 10.0,
    ) -> None:
        self.path = Path(path)
        self._clock = clock
        self._hooks = hooks or Hooks()
        self._vfs = vfs
        self._busy_seconds = busy_seconds
        self._lock = Lock()
        self._idle: list[apsw.Connection] = []
        self._log_pages = 0
        self._reopened = 0
        self._version = 0
        self._closed = False
        check_location(self.path, create=create)
        self._writer: apsw.Connection | None = self._open(create=create)
        self._inode = self.path.stat().st_ino
        self._batches = 0  # the newest commit that was ever seen from here

    # ------------------------------------------------------------------ writing

    def apply(self, verbs: Sequence[Verb]) -> list[Outcome]:
        """All verbs in one transaction. See `port.Database`."""
        with self._lock:
            connection = self._connected()
            try:
                run(connection, "BEGIN IMMEDIATE")
                reads = [list(verb.reads()) for verb in verbs]
                batch = load(connection, (read for named in reads for read in named), self._clock.now_us())
                self._check_age(batch)
                outcomes, wrote = decide(verbs, reads, batch)
                if not batch.wrote:
                    run(connection, "ROLLBACK")
                    return outcomes
                boundaries = [verb.boundary for verb in wrote]
                store(connection, batch, sends=any(verb.sends for verb in wrote))
                self._hooks.before_commit(boundaries)
                run(connection, "COMMIT")
            except apsw.Error as problem:
                self._give_up(connection, problem)
                raise storage_error(problem, self._busy_seconds) from problem
            except (
                UnicodeEncodeError
            ) as problem:  # a column's text that a verb did not look at; alone, only it is refused
                self._roll_back(connection)
                raise Refused("unserializable", where="a text", problem=str(problem)) from problem
            except BaseException:
                self._roll_back(connection)
                raise
            self._batches += batch.installation is not None
            self._hooks.after_commit(boundaries)
            self._hooks.committed(batch.entries)
            self._checkpoint(connection)
            return outcomes

    def marked(self) -> Mark:
        """What the outside marker must hold. Raises Refused(not_found) without an installation."""
        with self._lock:
            found = one(self._connected(), sql("newest_mark"))
        if found is None:
            raise Refused("not_found", what="installation", id=str(self.path))
        installation_id, incarnation, batch, rolling = found
        return Mark(installation_id, incarnation, batch, batch, rolling or GENESIS)

    def _give_up(self, connection: apsw.Connection, problem: apsw.Error) -> None:
        """Leave the transaction. After anything but a lock, a full disk or a refused row the connection is not trusted:

        a flush that failed once may succeed the next time without having written what failed.
        """
        self._roll_back(connection)
        if not isinstance(problem, (apsw.BusyError, apsw.FullError, apsw.ConstraintError)):
            self._drop_writer(connection)

    def _roll_back(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            try:
                run(connection, "ROLLBACK")
            except apsw.Error:
                self._drop_writer(connection)

    def _drop_writer(self, connection: apsw.Connection) -> None:
        self._writer = None
        self._reopened += 1
        with suppress(apsw.Error):
            connection.close(True)

    def _checkpoint(self, connection: apsw.Connection) -> None:
        """Move the log into the file when it is long. What is committed stays durable even if this fails."""
        if self._log_pages < CHECKPOINT_PAGES:
            return
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            return  # another process does it now
        except apsw.Error:
            self._drop_writer(connection)

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reader(self) -> Generator[SqlReader, None, None]:
        """A snapshot, from the first look in the block on. Raises StorageError when the file cannot be read."""
        self._check_open()
        connection = None
        try:
            connection = self._take_reader()
            run(connection, "BEGIN")
            yield SqlReader(SqliteQuestions(connection))
        except apsw.Error as problem:
            raise storage_error(problem, self._busy_seconds) from problem
        finally:
            if connection is not None:
                self._hand_back(connection)

    def _hand_back(self, connection: apsw.Connection) -> None:
        """Keep it for the next snapshot, unless something is still being read in it: that would be the old one."""
        with suppress(apsw.Error):
            run(connection, "ROLLBACK")
            if connection.txn_state() == apsw.SQLITE_TXN_NONE and not self._closed:
                self._idle.append(connection)
                return
        with suppress(apsw.Error):
            connection.close(True)

    def data_version(self) -> int:
        """Changes when another process or connection committed. Never waits for a batch."""
        if self._lock.acquire(blocking=False):
            try:
                own = int(pragma(self._connected(), "data_version"))
                self._version = self._reopened << 32 | own
            except apsw.Error as problem:
                raise storage_error(problem, self._busy_seconds) from problem
            finally:
                self._lock.release()
        return self._version

    def hear(self, told: Callable[[], None]) -> Callable[[], None]:
        """A file tells nobody: who waits looks. See `Hearing`."""
        del told
        return lambda: None

    # ------------------------------------------------------------------ connections

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        with self._lock:
            self._closed = True
            self._close_idle()
            if self._writer is not None:
                with suppress(apsw.Error):
                    self._writer.close()
                self._writer = None

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(apsw.Error):
                self._idle.pop().close()

    def _check_open(self) -> None:
        """Refuse what was closed, and a file that was removed or replaced: what is written to it would be lost."""
        if self._closed:
            raise StorageError("storage_failed", problem=f"{self.path} was closed here")
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise StorageError("storage_failed", problem=f"{self.path} was removed or replaced while it was open")

    def _check_age(self, batch: Batch) -> None:
        """Refuse a file whose content was put back while it was open: who opens it anew asks the outside marker."""
        batches = batch.installation.batches if batch.installation else 0
        if batches < self._batches:
            raise StorageError("storage_failed", problem=f"{self.path} became older while it was open")
        self._batches = batches

    def _connected(self) -> apsw.Connection:
        self._check_open()
        if self._writer is None:
            self._writer = self._open(create=False)
        return self._writer

    def _open(self, *, create: bool) -> apsw.Connection:
        connection = open_writer(self.path, create=create, vfs=self._vfs, busy_seconds=self._busy_seconds)
        connection.set_wal_hook(self._grown)
        return connection

    def _take_reader(self) -> apsw.Connection:
        with suppress(IndexError):
            return self._idle.pop()
        return open_reader(self.path, vfs=self._vfs, busy_seconds=self._busy_seconds)

    def _grown(self, connection: apsw.Connection, name: str, pages: int) -> int:
        del connection, name
        self._log_pages = pages
        return apsw.SQLITE_OK
