"""A schema that was made to try something is gone at the end, also where what was tried failed."""

import pytest

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_scratch import fill, scratch_schema
from tests.servers.postgres import shared

SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'scratch%%'"


def test_it_is_gone_where_what_was_tried_failed() -> None:
    server = shared()
    with server.database() as url:

        def tried() -> None:
            with scratch_schema(PostgresAddress.of(url)) as scratch:
                fill(scratch, scratch)
                assert len(server.ask(SCHEMAS, url=url)) == 1
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            tried()
        assert server.ask(SCHEMAS, url=url) == []
