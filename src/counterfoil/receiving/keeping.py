"""Key, parameters' digest, change and answer in one transaction: what makes a repeat harmless."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table, inspect, select, tuple_, update
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.orm import Session

from counterfoil.receiving.answer import (
    BAD_KEY,
    FIRST,
    IN_PROGRESS,
    MISMATCH,
    NOT_EXECUTED,
    OVER,
    REPLAYED,
    UNKNOWN,
    Answer,
    told,
)
from counterfoil.receiving.asked import Asked, number_of, scope_of
from counterfoil.receiving.database import database_of
from counterfoil.receiving.promise import Promise
from counterfoil.receiving.sighting import Sighting
from counterfoil.receiving.table import keys_table

_log = logging.getLogger("counterfoil.receiving")
Act = Callable[[Session], Answer]


class _Undone(Exception):
    """Carries an answer out of a transaction that must not be committed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Receiving:
    """Keeps a `Promise` in one database. Raises ValueError for a database other than SQLite and PostgreSQL.

    `table`: from `keys_table`, where your migrations make it. `sessions`: makes the session that an act gets, as `Session`
    or a `sessionmaker`. `clock`: microseconds since 1970; left out, the database's own. Threads may share it.
    """

    def __init__(
        self,
        engine: Engine,
        promise: Promise,
        *,
        table: Table | None = None,
        sessions: Callable[..., Session] = Session,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.promise = promise
        self._engine = engine
        self._database = database_of(engine)
        self._table = keys_table(MetaData()) if table is None else table
        self._sessions = sessions
        self._clock = clock

    def prepare(self) -> None:
        """Make the table where it is missing. Raises RuntimeError where the engine commits by itself: call it at start."""
        try:
            self._table.metadata.create_all(self._engine, tables=[self._table])
        except DBAPIError:
            if not inspect(self._engine).has_table(self._table.name, self._table.schema):
                raise  # else another process made it just now
        row = self._row("check", "check", "", "refused", 0)
        with self._engine.connect() as connection:
            with connection.begin() as turn:
                claimed = self._database.claim(connection, self._table, row)
                turn.rollback()
            if claimed and self._kept(connection, "check", "check") is not None:
                raise RuntimeError("this engine commits by itself: a key and its change would not be one transaction")

    def once(self, asked: Asked, act: Act) -> Answer:
        """The answer to a request; `act` is called at most once for a key, with a session inside the transaction.

        What `act` does through the session is committed with its answer, or not at all. It must change nothing else. Its
        session may commit and roll back as it likes: both stay inside.
        """
        problem = asked.unfit(self.promise)
        if problem is not None:
            return told(400, BAD_KEY, problem)
        try:
            with self._engine.connect() as connection:
                return self._turn(connection, asked, act)
        except _Undone as undone:
            return undone.answer
        except (DBAPIError, NoConnection) as problem:
            # Whatever failed, the COMMIT was not sent: `_committed` answers for that itself.
            _log.warning("receiving: nothing was executed, the database failed: %s", _first_line(problem))
            return self._not_executed("The database could not do it now. Nothing was executed.")

    def look(self, scope: str, key: str) -> Sighting:
        """What is known of a key. `absent` is true now, and a late request may end it; `refuse` makes a lasting statement."""
        stored = scope_of(scope)
        with self._database.reading(self._engine) as connection, connection.begin():
            alone = self._database.alone(connection, number_of(stored, key))
            row = self._kept(connection, stored, key)  # after the lock: whoever held it has shown what it did
            if row is None:
                return Sighting(state="absent" if alone else "in_progress")
            return self._seen(row, self._now(connection))

    def refuse(self, scope: str, key: str) -> Sighting:
        """Make sure that a key never acts: gives `refused`, or what it has done before. Also `in_progress`: ask again.

        Absence is proven only by inserting the key oneself: a request that is still on its way finds it taken.
        """
        stored = scope_of(scope)
        with self._database.reading(self._engine) as connection, connection.begin():
            if not self._database.alone(connection, number_of(stored, key)):
                row = self._kept(connection, stored, key)
                return Sighting(state="in_progress") if row is None else self._seen(row, self._now(connection))
            now = self._now(connection)
            if self._database.claim(connection, self._table, self._row(stored, key, "", "refused", now)):
                return Sighting(state="refused", accepted_at=now)
            return self._seen(self._kept(connection, stored, key), now)

    def clean_up(self, limit: int = 1000) -> int:
        """Forget up to `limit` answers whose window is over, and keep their keys. Gives how many: call it until it is 0.

        It may run beside requests and beside itself: what a repeat gets is decided by the row's own time.
        """
        keys = self._table.c
        with self._engine.connect() as connection, connection.begin():
            due = (
                select(keys.scope, keys.key)
                .where(keys.state == "answered", keys.kept_until <= self._now(connection))
                .limit(limit)
            )
            forgotten = update(self._table).where(tuple_(keys.scope, keys.key).in_(due), keys.state == "answered")
            return connection.execute(forgotten.values(state="over", headers=None, body=None)).rowcount

    # --- one turn -----------------------------------------------------------------------------------------------------

    def _turn(self, connection: Connection, asked: Asked, act: Act) -> Answer:
        scope, (key,) = scope_of(asked.scope), asked.keys
        transaction = connection.begin()
        if not self._database.alone(connection, number_of(scope, key)):
            # A repeat may hold it too, and be about to read what is there.
            row = self._kept(connection, scope, key)
            return self._at_work() if row is None else self._repeated(row, asked, self._now(connection))
        now = self._now(connection)
        claimed = self._row(scope, key, asked.digest(self.promise), "working", now)
        if not self._database.claim(connection, self._table, claimed):
            return self._repeated(self._kept(connection, scope, key), asked, now)
        answer = self._acted(connection, act)
        if answer.status >= 500 and self.promise.errors == "rolled_back":
            raise _Undone(answer.marked(NOT_EXECUTED))
        self._keep(connection, scope, key, answer)
        return self._committed(transaction, answer)

    def _acted(self, connection: Connection, act: Act) -> Answer:
        # A savepoint of ours, outside of the session's: whatever the session commits is undone with a refusal.
        savepoint = connection.begin_nested()
        try:
            with self._sessions(bind=connection, join_transaction_mode="create_savepoint") as session:
                answer = act(session)
                self._fits(answer)
                if answer.status < 400:
                    session.commit()
        except (OperationalError, InterfaceError, InternalError):
            raise  # a lock, a deadlock, a lost connection: nothing to keep, and another time it works
        except Exception as problem:
            answer = _failed(problem)
        if answer.status < 400:
            savepoint.commit()
        else:
            savepoint.rollback()
        return answer

    def _fits(self, answer: Answer) -> None:
        unkept = sorted(set(answer.headers) - set(self.promise.headers))
        if unkept:
            raise ValueError(
                f"the answer carries {', '.join(unkept)}, which the promise does not keep: add it to headers"
            )
        if len(answer.body) > self.promise.largest_answer:
            raise ValueError(
                f"the answer has {len(answer.body)} bytes; the promise keeps {self.promise.largest_answer}"
            )

    def _committed(self, transaction: Any, answer: Answer) -> Answer:
        try:
            transaction.commit()
        except DBAPIError as problem:
            _log.warning("receiving: the COMMIT was not answered: %s", _first_line(problem))
            again = self._seconds()
            return told(500, UNKNOWN, "It may have happened. Repeat it under the same key.", retry_after=again)
        return answer.marked(FIRST)

    def _repeated(self, row: Any, asked: Asked, now: int) -> Answer:
        if row.state == "refused":
            return told(410, REPLAYED, "This key was refused for good before any request under it was executed.")
        if row.digest != asked.digest(self.promise):
            return told(self.promise.mismatch, MISMATCH, "This key belongs to a request with other parameters.")
        seen = self._seen(row, now)
        if seen.answer is None:
            return told(
                410, OVER, "This was answered before; the answer is no longer kept. It is not executed again.",
                first_status=seen.status, reference=seen.reference,
            )  # fmt: skip
        return seen.answer.marked(REPLAYED)

    def _at_work(self) -> Answer:
        return told(409, IN_PROGRESS, "A request under this key is at work.", retry_after=self._seconds())

    def _not_executed(self, sentence: str) -> Answer:
        return told(503, NOT_EXECUTED, sentence, retry_after=self._seconds())

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _row(self, scope: str, key: str, digest: str, state: str, now: int) -> dict[str, Any]:
        until = now + self.promise.window // timedelta(microseconds=1)
        return {"scope": scope, "key": key, "digest": digest, "state": state, "accepted_at": now, "kept_until": until}

    def _keep(self, connection: Connection, scope: str, key: str, answer: Answer) -> None:
        keys = self._table.c
        kept = {"state": "answered", "status": answer.status, "body": answer.body, "reference": answer.reference}
        row = update(self._table).where(keys.scope == scope, keys.key == key)
        connection.execute(row.values(**kept, headers=json.dumps(dict(answer.headers))))

    def _kept(self, connection: Connection, scope: str, key: str) -> Any:
        keys = self._table.c
        return connection.execute(select(self._table).where(keys.scope == scope, keys.key == key)).one_or_none()

    def _seen(self, row: Any, now: int) -> Sighting:
        if row.state == "refused":
            return Sighting(state="refused", accepted_at=row.accepted_at)
        over = row.state == "over" or now >= row.kept_until
        answer = None
        if not over:
            headers: dict[str, str] = json.loads(row.headers)
            answer = Answer(status=row.status, body=bytes(row.body), headers=headers, reference=row.reference)
        return Sighting(
            state="over" if over else "answered",
            status=row.status,
            reference=row.reference,
            answer=answer,
            accepted_at=row.accepted_at,
            kept_until=row.kept_until,
        )

    def _now(self, connection: Connection) -> int:
        return self._database.now_us(connection) if self._clock is None else self._clock()

    def _seconds(self) -> int:
        return -(-self.promise.retry_after // timedelta(seconds=1))


def _failed(problem: Exception) -> Answer:
    _log.error("receiving: an act failed and was rolled back", exc_info=problem)
    return Answer.json(500, {"detail": "It failed, and nothing of it was kept."})


def _first_line(problem: Exception) -> str:
    """What a database says of values stands in the lines after the first, and in no log of ours."""
    said = str(getattr(problem, "orig", None) or problem)
    return f"{type(problem).__name__}: {said.splitlines()[0] if said else ''}"
