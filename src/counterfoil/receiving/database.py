"""What differs between the databases: inserting a key or not, noticing that it is at work, and the clock."""

from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Table, cast, func, select
from sqlalchemy import types as sql_types
from sqlalchemy.dialects import postgresql, sqlite

_DAY_US = 86_400_000_000
_EPOCH_DAYS = 2440587.5  # 1970, in days as julianday() counts


class Database(Protocol):
    """One kind of database."""

    def alone(self, connection: Connection, number: int) -> bool:
        """Whether no other transaction is at work under this number, until this one ends."""
        ...

    def claim(self, connection: Connection, table: Table, row: dict[str, Any]) -> bool:
        """Insert a key. Waits for a transaction that holds it; False: it is there."""
        ...

    def reading(self, engine: Engine) -> Connection:
        """A connection whose statements see what was committed before each of them."""
        ...

    def now_us(self, connection: Connection) -> int:
        """The database's own clock, in microseconds: service processes may disagree about theirs."""
        ...


class _Postgres:
    def alone(self, connection: Connection, number: int) -> bool:
        # Nobody waits on it, it ends with the transaction, and a pooler in transaction mode keeps it whole.
        return bool(connection.execute(select(func.pg_try_advisory_xact_lock(number))).scalar_one())

    def claim(self, connection: Connection, table: Table, row: dict[str, Any]) -> bool:
        claim = postgresql.insert(table).values(row).on_conflict_do_nothing().returning(table.c.key)
        return connection.execute(claim).first() is not None

    def reading(self, engine: Engine) -> Connection:
        # With one snapshot for the transaction, what the holder of the lock committed just now would look absent.
        return engine.connect().execution_options(isolation_level="READ COMMITTED")

    def now_us(self, connection: Connection) -> int:
        seconds = func.extract("epoch", func.clock_timestamp())
        return int(connection.execute(select(cast(seconds * 1_000_000, sql_types.BigInteger))).scalar_one())


class _SQLite:
    def alone(self, connection: Connection, number: int) -> bool:
        del connection, number
        return True  # one writer at a time: who claims waits for the whole transaction before it

    def claim(self, connection: Connection, table: Table, row: dict[str, Any]) -> bool:
        claim = sqlite.insert(table).values(row).on_conflict_do_nothing().returning(table.c.key)
        return connection.execute(claim).first() is not None

    def reading(self, engine: Engine) -> Connection:
        return engine.connect()

    def now_us(self, connection: Connection) -> int:
        days = float(connection.execute(select(func.julianday("now"))).scalar_one())
        return round((days - _EPOCH_DAYS) * _DAY_US)


def database_of(engine: Engine) -> Database:
    """Raises ValueError for a database that nobody has tested."""
    if engine.dialect.name == "postgresql":
        return _Postgres()
    if engine.dialect.name == "sqlite":
        return _SQLite()
    raise ValueError(f"{engine.dialect.name} is not tested here; SQLite and PostgreSQL are")
