"""A connection to PostgreSQL, and what is asked of the server before it is used.

Nothing here leaves anything in a session outside a transaction: behind a pooler the next statement may go to another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import psycopg
from psycopg import errors, pq
from psycopg.conninfo import conninfo_to_dict

from counterfoil.model.errors import Refused
from counterfoil.store.migrate import APPLICATION_ID, newest
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_errors import storage_error
from counterfoil.store.postgres_spelling import spelled
from counterfoil.store.postgres_words import TextDumper, TextLoader
from counterfoil.store.queries import sql

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]

OLDEST_SERVER = 140000

# Where the address does not say otherwise: a host that vanished is noticed, also in the middle of an answer.
_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "counterfoil",
}


_LEAST_TIMEOUT = 2  # seconds: libpq waits no shorter


@dataclass(frozen=True, slots=True)
class Server:
    """What a server says of itself. `schema`: where the ledger is, or would be.

    `version` 0: nothing of ours is there. `oid`: the database.
    `line`: its timeline, 0 of a standby. `confirmed`: commits wait for a standby.
    """

    number: int
    shown: str
    read_only: bool
    schema: str
    version: int
    cluster: str
    oid: int
    line: int
    confirmed: bool

    @property
    def place(self) -> str:
        """Which ledger it is, however it is reached; a copy of the whole server has the same."""
        return place_of(self.cluster, self.oid, self.schema)


def place_of(cluster: str, oid: int, schema: str) -> str:
    """The name of a ledger's place, as the outside marker keeps it."""
    return f"postgresql cluster {cluster} database {oid} schema {schema}"


def connect(address: PostgresAddress, at_most: float | None = None) -> Connection:
    """A connection that begins no transaction by itself and prepares nothing. Raises psycopg.Error.

    `at_most`: for how many seconds an answer is waited for, over all hosts that the address names.
    """
    given = conninfo_to_dict(address.url)
    options = cast("dict[str, Any]", _DEFAULTS | given | {"client_encoding": "utf8"})
    if at_most is not None:
        each, asked_for = int(at_most / len(str(options.get("host", "")).split(","))), int(options["connect_timeout"])
        options["connect_timeout"] = max(_LEAST_TIMEOUT, min(each, asked_for) if asked_for > 0 else each)
    connection = psycopg.connect(**options, autocommit=True, prepare_threshold=None)
    connection.adapters.register_dumper(str, TextDumper)
    connection.adapters.register_loader("text", TextLoader)
    return connection


def identify(connection: Connection, address: PostgresAddress) -> Server:
    """Look what is there. Raises Refused: unsupported_server, not_ours, newer_schema; or psycopg.Error."""
    row = asked(connection, "server", {"schema": address.schema}).fetchone()
    assert row is not None, "the query gives one row"
    number, shown, encoding, read_only, schema, ours, relations, cluster, oid, line, confirmed = row
    if number < OLDEST_SERVER:
        raise _unsupported(address, f"it is version {shown}, and 14 is the oldest")
    if encoding != "UTF8":
        raise _unsupported(address, f"its database is encoded as {encoding}, not as UTF8")
    if schema is None:
        raise _unsupported(address, "it has no schema to work in; name one with ?schema=")
    if relations and not ours:
        raise _not_ours(address, schema)
    version = _version(connection, address, schema) if ours else 0
    if version > newest():
        raise Refused("newer_schema", found=version, known=newest())
    return Server(number, shown, read_only, schema, version, cluster, oid, line, confirmed)


def _version(connection: Connection, address: PostgresAddress, schema: str) -> int:
    try:
        with connection.transaction():
            connection.execute(text(f"SET LOCAL search_path TO {quoted(schema)}"))
            found = asked(connection, "schema_version").fetchone()
    except (errors.UndefinedColumn, errors.InsufficientPrivilege):
        found = None
    if found is None or found[0] != APPLICATION_ID:
        raise _not_ours(address, schema)
    return int(found[1])


def _unsupported(address: PostgresAddress, problem: str) -> Refused:
    return Refused("unsupported_server", location=address.shown, problem=problem)


def _not_ours(address: PostgresAddress, schema: str) -> Refused:
    return Refused("not_ours", location=f"the schema {schema} of {address.shown}")


def asked(connection: Connection, name: str, given: Mapping[str, Any] | None = None) -> Cursor:
    """The rows of a named query."""
    return executed(connection, sql(name, "postgres"), given or {})


def plain(name: str) -> LiteralString:
    """A named query without parameters, to be run together with other statements."""
    return text(spelled(sql(name, "postgres")).replace("%%", "%"))


def executed(connection: Connection, statement: str, given: Mapping[str, Any]) -> Cursor:
    """The rows of a statement in the shared spelling."""
    absent = frozenset(name for name, value in given.items() if value is None)
    return connection.execute(text(spelled(statement, absent)), given)


def open_connection(address: PostgresAddress, busy_seconds: float) -> Connection:
    """As `connect`. Raises StorageError."""
    try:
        return connect(address)
    except psycopg.Error as problem:
        raise storage_error(problem, address, busy_seconds) from problem


def quoted(name: str) -> str:
    """A name within SQL. Names of schemas are checked to be plain words (`PostgresAddress.of`), or came from the server."""
    return '"' + name.replace('"', '""') + '"'


def text(statement: str) -> LiteralString:
    """Statements come from our own files and records; the driver's type asks that nothing else is put into them."""
    return cast("LiteralString", statement)


def broken(connection: Connection) -> bool:
    """Whether nothing more can be asked on this connection."""
    return connection.closed or connection.pgconn.status == pq.ConnStatus.BAD
