"""The settings under which a server keeps commits, read from it as it is now."""

import psycopg

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import asked, identify, open_connection
from counterfoil.store.postgres_errors import storage_error
from counterfoil.store.postgres_facts import PostgresSettings
from counterfoil.store.postgres_turn import holders, key_of, parts_of


def live_settings(address: PostgresAddress, busy_seconds: float = 1.0) -> PostgresSettings:
    """Raises Refused or StorageError as opening does. Takes the lock for a moment, if it is free."""
    connection = open_connection(address, busy_seconds)
    try:
        server = identify(connection, address)
        key = key_of(server.schema)
        (free,) = asked(connection, "turn_free", {"key": key}).fetchall()[0]
        named = [] if free else holders(connection, parts_of(key))
        version, commit, fsync, pages, level, names, size, clock, standbys, here = asked(
            connection, "settings"
        ).fetchall()[0]
    except psycopg.Error as problem:
        raise storage_error(problem, address, busy_seconds) from problem
    finally:
        connection.close()
    return PostgresSettings(
        version=version, synchronous_commit="on" if commit == "off" else commit, configured=commit, fsync=fsync == "on",
        full_page_writes=pages == "on", wal_level=level, synchronous_standby_names=names, standbys=standbys, bytes=size,
        clock_us=clock, same_host=here, schema=server.schema, schema_version=server.version, turn_free=free, turn_holders=named,
    )  # fmt: skip
