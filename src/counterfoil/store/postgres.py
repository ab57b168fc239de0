"""The database for several workers: one schema of a PostgreSQL server, whose batches follow one another by one lock."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Protocol

import psycopg
from psycopg import errors, pq

from counterfoil.model.errors import Refused
from counterfoil.model.journal import GENESIS
from counterfoil.store.batch import Batch
from counterfoil.store.leaving import decide
from counterfoil.store.marker import Place
from counterfoil.store.own_batches import OwnBatches
from counterfoil.store.port import Hooks, Mark, Outcome, Read, StorageError, Verb
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import (
    Connection,
    Cursor,
    asked,
    broken,
    open_connection,
    place_of,
    quoted,
    text,
)
from counterfoil.store.postgres_errors import storage_error
from counterfoil.store.postgres_news import News
from counterfoil.store.postgres_pool import ReadingPool, reach
from counterfoil.store.postgres_questions import PostgresQuestions
from counterfoil.store.postgres_rows import ask, loaded, store
from counterfoil.store.postgres_schema import prepare
from counterfoil.store.postgres_turn import Turn
from counterfoil.store.reader import SqlReader

FROZEN_SECONDS = 5.0  # less than others wait for the lock: a frozen holder is ended before they give up


class Clock(Protocol):
    """Where time comes from. Microseconds since 1970 UTC."""

    def now_us(self) -> int:
        """One reading."""
        ...


class PostgresDatabase:
    """A ledger of ours in one schema of a server.

    `create` makes it where there is none. `clock`: None for the server's. Raises Refused (not_ours, newer_schema, no_database,
    unsupported_server) or StorageError. `apply` is for one thread at a time; everything else may be called from any.
    """

    def __init__(
        self,
        address: PostgresAddress,
        clock: Clock | None = None,
        *,
        create: bool = False,
        hooks: Hooks | None = None,
        busy_seconds: float = 10.0,
        frozen_seconds: float = FROZEN_SECONDS,
    ) -> None:
        self.address = address
        self._clock = clock
        self._hooks = hooks or Hooks()
        self._busy_seconds = busy_seconds
        self._lock = Lock()
        self._closed = False
        self._batches = 0  # the newest commit that was ever seen from here
        self._ours = OwnBatches()
        self._n = 0  # batches that were begun to be written from here
        self._kept = False  # whether a batch of ours was ever committed, with its own row
        connection = open_connection(address, busy_seconds)
        try:
            self.server = prepare(connection, address, create=create, busy_seconds=busy_seconds)
            self._writer_id = str(asked(connection, "new_writer").fetchall()[0][0])
        except BaseException as problem:
            connection.close()
            if isinstance(problem, psycopg.Error):
                raise storage_error(problem, address, busy_seconds) from problem
            raise
        self._writer: Connection | None = connection
        self._readers = ReadingPool(address, self.server.schema, busy_seconds)
        self._confirmed = self.server.confirmed  # whether the newest commit from here waited for a standby
        self._told_confirmed = self._confirmed  # whether the outside marker may say so
        self._turn = Turn(self.server.schema, busy_seconds, frozen_seconds)
        self._news = News(address, self.server.schema)

    # ------------------------------------------------------------------ writing

    def apply(self, verbs: Sequence[Verb]) -> list[Outcome]:
        """All verbs in one transaction. See `port.Database`."""
        with self._lock:
            reads = [list(verb.reads()) for verb in verbs]
            connection, batch = self._take_turn([read for named in reads for read in named])
            try:
                self._check_age(batch)
                outcomes, wrote = decide(verbs, reads, batch)
                if not batch.wrote:
                    self._roll_back(connection)
                    return outcomes
                if self._told_confirmed and not self._confirmed:
                    # Before the commit: should it be lost by a promotion, the marker must not say that each was confirmed.
                    self._hooks.unconfirmed()
                self._told_confirmed = self._confirmed
                boundaries = [verb.boundary for verb in wrote]
                self._commit(connection, batch, boundaries, sends=any(verb.sends for verb in wrote))
            except psycopg.Error as problem:
                self._roll_back(connection)
                raise storage_error(problem, self.address, self._busy_seconds) from problem
            except BaseException:
                self._roll_back(connection)
                raise
            self._kept = True
            self._batches += batch.installation is not None
            self._hooks.after_commit(boundaries)
            self._news.tell()
            self._hooks.committed(batch.entries)
            return outcomes

    def _take_turn(self, reads: list[Read]) -> tuple[Connection, Batch]:
        """The lock of all batches, and everything the verbs named: two round trips.

        A connection that broke while nobody used it is no failure: nothing was written, so it is done again on a new one.
        """
        again = False
        while True:
            connection = self._connected()
            try:
                return connection, self._begun(connection, reads)
            except psycopg.Error as problem:
                lost = broken(connection)
                self._roll_back(connection)
                ended, held_by = self._look_at_holder(problem)
                if again or not (lost or ended):
                    raise storage_error(problem, self.address, self._busy_seconds, held_by) from problem
                again = True
            except BaseException:
                self._roll_back(connection)
                raise

    def _look_at_holder(self, problem: psycopg.Error) -> tuple[bool, str]:
        """Where the lock could not be had: whether a holder that stands still was ended, else who it is."""
        if not isinstance(problem, errors.LockNotAvailable) or self._writer is None:
            return False, ""
        with suppress(psycopg.Error):
            ended, held_by = self._turn.end_silent_holder(self._writer)
            return ended, ", ".join(held_by)
        return False, ""

    def _begun(self, connection: Connection, reads: list[Read]) -> Batch:
        with connection.pipeline():
            standing = self._turn.ask(connection)
            asking = ask(connection, reads)
        batch = loaded(connection, asking, None if self._clock is None else self._clock.now_us())
        self._check_standing(standing, batch)
        return batch

    def _commit(self, connection: Connection, batch: Batch, boundaries: list[str], *, sends: bool) -> None:
        """Write and commit by one round trip. Returns when it is certain that the batch is stored."""
        # Before anything is sent: between two round trips the server ends a session that is silent, in the middle of one it waits.
        self._hooks.before_commit(boundaries)
        said: list[str] = []
        self._n += 1
        self._ours = self._ours.begun(self._batches + 1)
        committing = False
        try:
            with connection.pipeline(), _warnings(connection, said):
                store(connection, batch, sends=sends)
                if not self._kept:
                    asked(connection, "forget_writers")
                asked(connection, "keep_writer", {"writer_id": self._writer_id, "n": self._n})
                committing = True
                answer = connection.execute("COMMIT")
        except psycopg.Error as problem:
            if committing and broken(connection):
                self._drop_writer(connection)
                if self._took_place(problem):
                    return
            self._ours = self._ours.undone()
            raise
        if answer.statusmessage != "COMMIT" or said:
            # A cancelled wait for a standby is told as a warning only: stored here, and not where it was promised to be.
            raise StorageError(
                "storage_failed", problem=f"COMMIT was answered by {answer.statusmessage}: {' '.join(said)}"
            )

    def _took_place(self, lost: psycopg.Error) -> bool:
        """Whether the COMMIT whose answer was lost took place: this batch's own row says it.

        The lock is taken before the look, so the session that may still be committing is over. Raises StorageError
        (storage_failed) where that cannot be found out: then the fate of the batch is open, as after a crash.
        """
        try:
            connection = self._writer = reach(self.address, self._busy_seconds)
            with connection.pipeline():
                self._turn.ask(connection)
                found = asked(connection, "writer", {"writer_id": self._writer_id})
            row = found.fetchone()
            self._roll_back(connection)
        except psycopg.Error as problem:
            if self._writer is not None:
                self._drop_writer(self._writer)
            said = self.address.masked(f"{lost} / {problem}")
            raise StorageError(
                "storage_failed", problem=f"the answer to COMMIT was lost, and its fate: {said}"
            ) from problem
        if row is None and self._kept:
            raise StorageError(
                "storage_failed", problem="the answer to COMMIT was lost, and so was this writer's own row"
            )
        return row is not None and row[0] == self._n

    def _check_standing(self, standing: Cursor, batch: Batch) -> None:
        """Refuse a server that became another one while the ledger was open, unless everything seen from here waited for a standby.

        Whoever opens it anew asks the outside marker.
        """
        line, confirmed = standing.fetchall()[0]
        if line != self.server.line:
            batches = batch.installation.batches if batch.installation else 0
            if not self._confirmed or batches < self._batches:
                raise StorageError("server_promoted", location=self.address.shown)
            self.server = replace(self.server, line=line)
        self._confirmed = confirmed

    def place(self) -> Place:
        """Where the ledger is, as the outside marker keeps it."""
        return Place(self.server.place, self.server.oid, self.server.line, self._confirmed)

    def marked(self) -> Mark:
        """What the outside marker must hold. Raises Refused(not_found) without an installation."""
        self._check_open()
        found = self._readers.one("newest_mark")
        if found is None:
            raise Refused("not_found", what="installation", id=self.address.shown)
        installation_id, incarnation, batch, rolling = found
        return Mark(installation_id, incarnation, batch, batch, rolling or GENESIS)

    def _roll_back(self, connection: Connection) -> None:
        if not broken(connection) and connection.info.transaction_status != pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        if broken(connection) or connection.info.transaction_status != pq.TransactionStatus.IDLE:
            self._drop_writer(connection)

    def _drop_writer(self, connection: Connection) -> None:
        if self._writer is connection:
            self._writer = None
        connection.close()

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reader(self) -> Generator[SqlReader, None, None]:
        """A snapshot, from the first look in the block on. Raises StorageError when the server cannot be asked."""
        self._check_open()
        with self._readers.snapshot() as connection:
            yield SqlReader(PostgresQuestions(connection))

    def data_version(self) -> int:
        """Changes when another process or connection committed. Never waits for a batch."""
        self._check_open()
        found = self._readers.one("batches")  # and then our own: one that was seen is among them
        return self._ours.others(0 if found is None else int(found[0]))

    def hear(self, told: Callable[[], None]) -> Callable[[], None]:
        """By NOTIFY, where the server can be listened to: not through a pooler. See `Hearing`."""
        self._check_open()
        return self._news.hear(told)

    def still_there(self, known: Place) -> bool:
        """Whether this server has the ledger that a marker knows, besides this one. Raises StorageError.

        Of another database of it only that it is there can be seen; of another server nothing, and then it is not.
        """
        self._check_open()
        server = self.server
        beside = known.path.removeprefix(place_of(server.cluster, known.inode, ""))
        if beside == known.path or known.path == server.place:
            return False
        given = {"oid": known.inode, "own": server.oid, "table": f"{quoted(beside)}.installation"}
        with self._readers.snapshot() as connection:
            return bool(asked(connection, "ledger_there", given).fetchall()[0][0])

    def twin(self, installation_id: str) -> str | None:
        """Another schema of this database whose installation has this id, as far as our role may look. Raises StorageError."""
        self._check_open()
        with self._readers.snapshot() as connection:
            beside = [str(row[0]) for row in asked(connection, "ledgers_beside", {"own": self.server.schema})]
            return next((each for each in beside if installation_id in _installations(connection, each)), None)

    def schema_version(self) -> int:
        """The schema that is there now. Raises StorageError."""
        self._check_open()
        found = self._readers.one("schema_version")
        return 0 if found is None else int(found[1])

    # ------------------------------------------------------------------ connections

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        with self._lock:
            self._closed = True
            self._news.close()
            self._readers.close()
            if self._writer is not None:
                self._drop_writer(self._writer)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("storage_failed", problem=f"{self.address.shown} was closed here")

    def _check_age(self, batch: Batch) -> None:
        """Refuse a ledger that went back while it was open: whoever opens it anew asks the outside marker."""
        batches = batch.installation.batches if batch.installation else 0
        if batches < self._batches:
            raise StorageError("storage_failed", problem=f"{self.address.shown} became older while it was open")
        self._batches = batches

    def _connected(self) -> Connection:
        self._check_open()
        if self._writer is None or broken(self._writer):
            try:
                connection = reach(self.address, self._busy_seconds)
            except psycopg.Error as problem:
                raise storage_error(problem, self.address, self._busy_seconds) from problem
            try:
                prepare(connection, self.address, create=False, busy_seconds=self._busy_seconds)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
        return self._writer


def _installations(connection: Connection, schema: str) -> list[str]:
    with suppress(errors.UndefinedColumn), connection.transaction():
        found = connection.execute(text(f"SELECT installation_id FROM {quoted(schema)}.installation"))  # noqa: S608 - the server's name
        return [str(row[0]) for row in found]
    return []


@contextmanager
def _warnings(connection: Connection, said: list[str]) -> Generator[None, None, None]:
    def heard(notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            said.append(notice.message_primary or "")

    connection.add_notice_handler(heard)
    try:
        yield
    finally:
        connection.remove_notice_handler(heard)
