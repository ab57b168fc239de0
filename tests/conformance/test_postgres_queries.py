"""Every named query is one that PostgreSQL can plan."""

import re
from collections.abc import Iterator

import pytest

from counterfoil.store.postgres import PostgresDatabase
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, connect, executed
from counterfoil.store.queries import queries
from counterfoil.store.reader_inbox import SOURCES, counts_of, page_of
from tests.servers.postgres import shared

COMPOSED = {f"{make.__name__} {source}": make(source) for make in (page_of, counts_of) for source in SOURCES}
POSITIONAL = (
    "user_receipt",
    "keep_chain",
    "keep_mark",
    "keep_counter",
)  # run by every commit, or in a user's own database
NAMED = {name: query.sql for name, query in queries("postgres").items() if not name.startswith(POSITIONAL)}


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    with shared().database() as url:
        address = PostgresAddress.of(url)
        PostgresDatabase(address, create=True).close()
        connection = connect(address)
        yield connection
        connection.close()


@pytest.mark.parametrize("name", [*NAMED, *COMPOSED])
def test_it_is_planned(connection: Connection, name: str) -> None:
    statement = NAMED.get(name) or COMPOSED[name]
    executed(connection, f"EXPLAIN {statement}", dict.fromkeys(re.findall(r"(?<!:):(\w+)", statement)))
