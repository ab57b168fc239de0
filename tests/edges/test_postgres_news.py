"""A commit is told to the other processes of a ledger, where the server can be listened to. Each handle here is like a process."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.store.postgres import PostgresDatabase
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.conformance.bench import Bench, SetClock, done, step
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import PostgresServer, shared

SOON_S = 20.0
LISTENS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND query LIKE 'LISTEN%%'"


@pytest.fixture
def server() -> PostgresServer:
    return shared()


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    with server.database() as url:
        yield url


@pytest.fixture
def bench(url: str, tmp_path: Path) -> Iterator[Bench]:
    """The handle that made the ledger is closed, and its last word has gone out: `open` gives those that the tests use."""
    bench = Bench(
        lambda location, clock, hooks: PostgresDatabase(PostgresAddress.of(url), clock, create=True, hooks=hooks),
        tmp_path,
    )
    bench.with_runs("run_a").close()
    yield bench
    bench.close()


def listens(server: PostgresServer, url: str) -> list[int]:
    """The sessions that wait for word."""
    return [pid for (pid,) in server.ask(LISTENS, url.rpartition("/")[2])]


def test_a_commit_elsewhere_is_told_and_ones_own_is_not(bench: Bench) -> None:
    first, second = bench.open(), bench.open()
    told, own = threading.Event(), threading.Event()
    second.hear(told.set)
    assert told.wait(SOON_S), "once it listens it looks: what came before was told to nobody"
    told.clear()
    first.hear(own.set)
    assert own.wait(SOON_S)
    own.clear()
    done(first, step("run_a", "0.1"))
    assert told.wait(SOON_S)
    told.clear()
    done(second, step("run_a", "0.2"))
    assert own.wait(SOON_S), "and the other way"
    assert not told.is_set()


def test_who_ends_to_listen_is_told_no_more(bench: Bench) -> None:
    first, second = bench.open(), bench.open()
    ended, told = threading.Event(), threading.Event()
    unheard = second.hear(ended.set)
    second.hear(told.set)
    assert ended.wait(SOON_S) and told.wait(SOON_S)
    unheard()
    ended.clear()
    told.clear()
    done(first, step("run_a", "0.1"))
    assert told.wait(SOON_S) and not ended.is_set()


def test_a_listener_whose_session_was_ended_listens_again(bench: Bench, server: PostgresServer, url: str) -> None:
    first, second = bench.open(), bench.open()
    told = threading.Event()
    second.hear(told.set)
    assert told.wait(SOON_S)
    told.clear()
    assert [server.ask("SELECT pg_terminate_backend(%s)", pid) for pid in listens(server, url)]
    assert told.wait(SOON_S), "it is back, and whoever hears it looks"
    told.clear()
    done(first, step("run_a", "0.1"))
    assert told.wait(SOON_S)


def test_through_a_pooler_it_tells_and_does_not_listen(bench: Bench, server: PostgresServer, url: str) -> None:
    told = threading.Event()
    bench.open().hear(told.set)
    assert told.wait(SOON_S)
    told.clear()
    before = listens(server, url)
    with pooled(server) as pooler:
        through = PostgresDatabase(PostgresAddress.of(pooler.at(url)), SetClock())
        deaf = threading.Event()
        through.hear(deaf.set)
        assert deaf.wait(SOON_S)
        deaf.clear()
        done(through, step("run_a", "0.1"))
        assert told.wait(SOON_S)
        through.close()
        assert listens(server, url) == before and not deaf.is_set()


def test_the_last_word_of_a_process_that_ends_goes_out(bench: Bench) -> None:
    told = threading.Event()
    bench.open().hear(told.set)
    assert told.wait(SOON_S)
    told.clear()
    last = bench.open()
    done(last, step("run_a", "0.1"))
    last.close()
    assert told.wait(SOON_S)
