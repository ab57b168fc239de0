"""The PgBouncer of the tests: a real one, which breaks what does not hold through a pooler in transaction mode."""

from collections.abc import Iterator

import psycopg
import pytest

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.conformance import cases, run_conformance
from counterfoil.testing.conformance.backends import postgres_within
from tests.servers import pgbouncer
from tests.servers.pgbouncer import Pooler, pooled
from tests.servers.postgres import PostgresServer, running

BACKEND = "SELECT pg_backend_pid()"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as started:
        yield started


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    with server.database() as url:
        yield url


def backend(connection: psycopg.Connection) -> int:
    row = connection.execute(BACKEND).fetchone()
    assert row is not None
    return row[0]


def test_a_session_has_another_backend_after_its_transaction(server: PostgresServer, url: str) -> None:
    with pooled(server) as pooler:
        first, second = (psycopg.connect(pooler.at(url), prepare_threshold=None) for _ in range(2))
        with first, second:
            was = backend(first)
            assert backend(first) == was, "one transaction, one backend"
            first.commit()
            assert backend(second) == was, "the one that became free"
            now = backend(first)
            assert now != was, "the same session, its next transaction"
            first.commit()
            second.commit()
            assert len([row for row in pooler.ask("SHOW SERVERS") if url.endswith(f"/{row[2]}")]) == 2
        assert {row[0] for row in server.ask("SELECT pid FROM pg_stat_activity")} >= {was, now}


def test_what_a_session_sets_reaches_others_and_not_itself(server: PostgresServer, url: str) -> None:
    """What the pooler breaks: a SET without LOCAL, a lock of a session."""
    with pooled(server) as pooler:
        first, second = (psycopg.connect(pooler.at(url), prepare_threshold=None) for _ in range(2))
        with first, second:
            first.execute("SET work_mem = '123kB'; SELECT pg_advisory_lock(7)")
            first.commit()
            assert second.execute("SHOW work_mem").fetchone() == ("123kB",)
            assert first.execute("SHOW work_mem").fetchone() != ("123kB",)
            assert first.execute("SELECT pg_try_advisory_lock(7)").fetchone() == (False,)


def test_it_holds_more_clients_than_backends(server: PostgresServer, url: str) -> None:
    with pooled(server, size=2) as pooler:
        clients = [psycopg.connect(pooler.at(url), prepare_threshold=None) for _ in range(12)]
        backends: set[int] = set()
        for client in clients:
            backends.add(backend(client))
            client.commit()
        assert len(backends) <= 2
        for client in clients:
            client.close()


def test_modes_of_session_and_statement(server: PostgresServer, url: str) -> None:
    with pooled(server, mode="session", size=1) as pooler, psycopg.connect(pooler.at(url)) as connection:
        connection.execute("SET work_mem = '321kB'")
        connection.commit()
        assert connection.execute("SHOW work_mem").fetchone() == ("321kB",)
    with (
        pooled(server, mode="statement") as pooler,
        psycopg.connect(pooler.at(url)) as connection,
        pytest.raises(psycopg.OperationalError),
    ):
        connection.execute(BACKEND)  # a transaction is begun for it


def test_every_role_of_the_server_signs_in(server: PostgresServer, url: str) -> None:
    server.ask("CREATE ROLE worker LOGIN PASSWORD 'of a worker'")
    with pooled(server) as pooler:
        there = pooler.at(url.replace(f"counterfoil:{server.secret}", "worker:of%20a%20worker"))
        assert server.ask("SELECT current_user", url=there) == [("worker",)]
        with pytest.raises(psycopg.OperationalError):
            server.ask(BACKEND, url=there.replace("worker:of", "worker:not"))


def test_it_comes_back_under_the_same_url(server: PostgresServer, url: str) -> None:
    with pooled(server) as pooler:
        with psycopg.connect(pooler.at(url)) as connection:
            pooler.restart()
            with pytest.raises(psycopg.OperationalError):
                connection.execute(BACKEND)
        assert server.ask("SELECT 1", url=pooler.at(url)) == [(1,)]
        pooler.kill()
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(pooler.at(url))


def test_a_restarted_server_is_found_again(url: str, server: PostgresServer) -> None:
    with pooled(server) as pooler, psycopg.connect(pooler.at(url), autocommit=True) as connection:
        connection.execute(BACKEND)
        server.restart()
        # The client's connection to the pooler may live on; a new one is served in any case.
        assert server.ask("SELECT 1", url=pooler.at(url)) == [(1,)]


def test_it_turns_to_another_server_while_clients_stay_connected() -> None:
    with running() as primary, primary.database() as url, primary.replica(synchronous=True) as standby:
        primary.ask("CREATE TABLE kept (number BIGINT)", url=url)
        with pooled(primary) as pooler, psycopg.connect(pooler.at(url), autocommit=True) as connection:
            connection.execute("INSERT INTO kept VALUES (1)")
            standby.promote()
            pooler.point_at(standby)
            connection.execute("INSERT INTO kept VALUES (2)")
        assert standby.ask("SELECT count(*) FROM kept", url=standby.at(url)) == [(2,)]
        assert primary.ask("SELECT count(*) FROM kept", url=url) == [(1,)]


def test_a_machine_without_it_says_so(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgbouncer.shutil, "which", lambda *_, **__: None)
    with pytest.raises(FileNotFoundError, match="PgBouncer is not installed"):
        Pooler(server)


def test_the_whole_conformance_suite_through_it(server: PostgresServer, url: str) -> None:
    """As much as without it, and nothing left out: nothing is kept in a session."""
    with pooled(server) as pooler:
        with postgres_within(PostgresAddress.of(pooler.at(url))) as backend:
            report = run_conformance(backend.make)
        assert (report.collected, report.failures, report.skipped) == (len(cases()), {}, 0)
        assert report.passed == report.collected
