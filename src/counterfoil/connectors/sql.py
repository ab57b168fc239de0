"""A database of your own: your writes and our operation's id in one transaction, by `run.transact`.

    await run.transact(lambda: psycopg.connect(DSN), place_order)            # a DB-API connection
    await sql.transact(run, engine, place_order)                             # SQLAlchemy's, for Core and for Session(connection)

No receiver has to keep a key here: who is first to insert the id holds the row until its COMMIT, and the id is there exactly
if the writes are. A COMMIT whose answer is lost is asked for by inserting the id again.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from counterfoil.engine.port import Run

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

ENTRY = "postgres_unique_insert"
T = TypeVar("T")


async def transact(run: Run, engine: "Engine", body: Callable[["Connection"], T]) -> T:
    """`run.transact` over SQLAlchemy: `body` is a plain function of the connection, and gives JSON.

    It must not commit, and what it writes through the connection, or a `Session(connection)` that it flushes, is committed
    together with our id, once. The engine is a blocking one: `create_engine`.
    """

    @wraps(body)
    def within(joined: _Joined) -> T:
        return body(joined.connection)

    return await run.transact(lambda: _Joined(engine.connect()), within)


class _Joined:
    """The DB-API face of one SQLAlchemy connection: what goes through either is one transaction."""

    def __init__(self, connection: "Connection") -> None:
        self.connection = connection

    @property
    def driver_connection(self) -> Any:
        """The driver's own."""
        return self.connection.connection.driver_connection

    def cursor(self) -> Any:
        """The driver's. SQLAlchemy must know of the transaction first, else a Session would take it for its own and end it."""
        if not self.connection.in_transaction():
            self.connection.begin()
        return self.connection.connection.cursor()

    def commit(self) -> None:
        """Of what went through either."""
        self.connection.commit()

    def rollback(self) -> None:
        """The same. What cannot even be rolled back is lost, and does not go back to the pool."""
        try:
            self.connection.rollback()
        except Exception:
            self.connection.invalidate()
            raise

    def close(self) -> None:
        """Back to the pool."""
        self.connection.close()
