"""Roles of a server: a worker's, which writes no answer, and the console's. Their text is a file of ours; the names are put into it."""

from importlib.resources import files

import psycopg

from counterfoil.model.errors import Refused
from counterfoil.store.migrate import newest
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import identify, open_connection, quoted, text
from counterfoil.store.postgres_errors import storage_error


def statements_for(schema: str, worker: str, console: str) -> str:
    """What gives the two roles their rights in a schema."""
    written = (files("counterfoil.store") / "sql" / "postgres" / "roles" / "grants.sql").read_text("utf-8")
    names = {"schema": quoted(schema), "worker": quoted(worker), "console": quoted(console)}
    names |= {"worker_text": _literal(worker), "console_text": _literal(console)}
    for name, value in names.items():
        written = written.replace(f"{{{name}}}", value)
    return written


def roles(address: PostgresAddress, worker: str, console: str, *, apply: bool) -> tuple[str, str]:
    """(schema, statements), for the ledger that lies there. Raises Refused(no_database), StorageError."""
    connection = open_connection(address, 0)
    try:
        server = identify(connection, address)
        if server.version != newest():
            raise Refused("no_database", location=address.shown)
        statements = statements_for(server.schema, worker, console)
        if apply:
            with connection.transaction():
                connection.execute(text(statements))
        return server.schema, statements
    except psycopg.Error as problem:
        raise storage_error(problem, address, 0) from problem
    finally:
        connection.close()


def _literal(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
