"""What a server must not be asked to hold: each is refused with its code, and nothing is made or changed there.

Others of this kind: a pooler of statements (test_postgres_promoted), a standby and a closed server (test_postgres_lost), somebody's
tables, a newer schema and a server that is not there (test_postgres_app), a worker without the version of a run (engine/test_steps).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from counterfoil import App, Refused
from counterfoil.app.opening import Founding
from counterfoil.app.signing import new_key
from tests.servers.postgres import shared


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    with shared().database() as url:
        yield url


def refused(url: str, founding: Founding | None = None) -> Refused:
    app = App("shop", db=url)
    with pytest.raises(Refused) as problem:
        app.open(founding)
    return problem.value


def altered(connection: psycopg.Connection[Any], how: LiteralString) -> sql.Composed:
    """The database of this connection, set so for whoever comes next."""
    return sql.SQL("ALTER DATABASE {} " + how).format(sql.Identifier(connection.info.dbname))


def ours(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname FROM pg_class WHERE relname IN ('installation', 'counterfoil_schema')"
        )
        return sorted(row[0] for row in found)


def test_a_server_older_than_the_oldest(url: str) -> None:
    """A real server, which is made to say that it is version 13: its own name for the version stands behind another one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA older")
        connection.execute(
            "CREATE FUNCTION older.current_setting(text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT CASE $1 "
            "WHEN 'server_version_num' THEN '130014' WHEN 'server_version' THEN '13.14' ELSE pg_catalog.current_setting($1) END $$"
        )
        connection.execute(altered(connection, "SET search_path = older, pg_catalog, public"))
    problem = refused(url, Founding())
    assert (problem.code, "13.14" in problem.message, "14" in problem.safe_next) == ("unsupported_server", True, True)
    assert ours(url) == []


def test_a_database_in_another_encoding(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        name = f"{connection.info.dbname}_latin"
        made = sql.SQL("CREATE DATABASE {} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        connection.execute(made.format(sql.Identifier(name)))
    try:
        problem = refused(shared().url_of(name), Founding())
        assert (problem.code, "LATIN1" in problem.message) == ("unsupported_server", True)
    finally:
        shared().drop(shared().url_of(name))


def test_a_database_that_takes_no_writes(url: str) -> None:
    app = App("shop", db=url)
    app.open(Founding())
    before = app.restore.status()
    app.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(altered(connection, "SET default_transaction_read_only = on"))
    assert refused(url).code == "read_only"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(altered(connection, "RESET default_transaction_read_only"))
    assert app.restore.status() == before
    app.close()


def test_two_installations_with_one_id_in_one_database(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first approval key gives an installation its id: also where the second is founded on another host."""
    founding = Founding(approval_key=new_key(tmp_path / "key").public_key)
    first = App("shop", db=f"{url}?schema=one")
    first.open(founding)
    first.close()
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "another"))
    problem = refused(f"{url}?schema=two", founding)
    assert (problem.code, "the schema one" in problem.message) == ("installation_twice", True)
    other = App("shop", db=f"{url}?schema=two")
    other.open(Founding(approval_key=new_key(tmp_path / "another_key").public_key))
    other.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_two_installations_with_one_id_in_one_state_folder(url: str, tmp_path: Path, backend: str) -> None:
    founding = Founding(approval_key=new_key(tmp_path / "key").public_key)
    with shared().database() as other:
        places = (url, other) if backend == "postgres" else (str(tmp_path / "one.db"), str(tmp_path / "two.db"))
        first = App("shop", db=places[0])
        first.open(founding)
        problem = refused(places[1], founding)
        assert problem.code == "installation_twice"
        assert first.restore.status()["state"] is None
        first.close()
        assert App("shop", db=places[0]).restore.status()["state"] is None
