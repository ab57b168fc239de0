"""Making the ledger's schema on a server, and bringing an older one up to date."""

import psycopg

from counterfoil.model.errors import Refused
from counterfoil.store.migrate import APPLICATION_ID, newest, postgres_migrations, schema
from counterfoil.store.port import StorageError
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, Server, asked, identify, quoted, text
from counterfoil.store.postgres_errors import storage_error


def prepare(connection: Connection, address: PostgresAddress, *, create: bool, busy_seconds: float) -> Server:
    """What is there, with the newest schema. Raises Refused (as `identify`, no_database) or StorageError (read_only and others)."""
    try:
        server = identify(connection, address)
        if server.version == 0 and not create:
            raise Refused("no_database", location=address.shown)
        if server.read_only:
            raise StorageError("read_only", location=address.shown)
        return server if server.version == newest() else _migrated(connection, address, server)
    except psycopg.Error as problem:
        raise storage_error(problem, address, busy_seconds) from problem


def _migrated(connection: Connection, address: PostgresAddress, server: Server) -> Server:
    with connection.transaction():
        asked(connection, "alone", {"key": APPLICATION_ID})
        if address.schema is not None:
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {quoted(address.schema)}"))
        found = identify(connection, address)  # again: another process may have been first
        if found.version < newest():
            connection.execute(text(f"SET LOCAL search_path TO {quoted(server.schema)}"))
            steps = [step.sql for step in postgres_migrations() if step.number > found.version]
            for statements in steps if found.version else [schema("postgres")]:
                connection.execute(text(statements))
            asked(connection, "keep_schema_version", {"application": APPLICATION_ID, "version": newest()})
    return identify(connection, address)
