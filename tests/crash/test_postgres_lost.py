"""PostgreSQL goes away: in the middle of a COMMIT, between two of them, for good. Nothing is applied twice, and nothing is invented."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from counterfoil.model.errors import Refused
from counterfoil.store.port import Hooks, StorageError
from counterfoil.store.postgres import PostgresDatabase
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_pool import reach
from counterfoil.testing.conformance.bench import Act, SetClock, done, install, step, submit
from counterfoil.testing.relay import Relay, relay
from tests.servers.postgres import running, shared

COMMIT = b"COMMIT\0"  # and not READ COMMITTED


@pytest.fixture
def url() -> Iterator[str]:
    with shared().database() as url:
        founded = PostgresDatabase(PostgresAddress.of(url), SetClock(), create=True)
        done(founded, Act((), install))
        done(founded, submit("run_a"))
        founded.close()
        yield url


@pytest.fixture
def between() -> Iterator[Relay]:
    with relay(shared().port) as between:
        yield between


def through(url: str, between: Relay, **options: Any) -> PostgresDatabase:
    return PostgresDatabase(
        PostgresAddress.of(url.replace(f":{shared().port}/", f":{between.port}/")), SetClock(), **options
    )


def positions(database: PostgresDatabase) -> list[str | None]:
    with database.reader() as reader:
        return [entry.position for entry in reader.entries("run_a")]


def test_a_lost_answer_to_a_commit_that_took_place_is_a_commit(url: str, between: Relay) -> None:
    hits: list[list[str]] = []
    database = through(url, between, hooks=Hooks(after_commit=hits.append))
    done(database, step("run_a", "0.1"))
    between.arm("lose-answer", COMMIT)
    (entry,) = done(database, step("run_a", "0.2"))
    assert between.hit.is_set()
    assert entry.sequence == 2
    assert positions(database) == [None, "0.1", "0.2"]
    done(database, step("run_a", "0.3"))
    assert positions(database) == [None, "0.1", "0.2", "0.3"]
    assert hits == [["stepped"]] * 3
    database.close()


@pytest.mark.parametrize("first", [True, False])
def test_a_commit_that_never_arrived_stored_nothing(url: str, between: Relay, first: bool) -> None:
    database = through(url, between)
    if not first:
        done(database, step("run_a", "0.0"))
    before = positions(database)
    between.arm("lose-request", COMMIT)
    with pytest.raises(StorageError) as lost:
        database.apply([step("run_a", "0.1")])
    assert between.hit.is_set()
    assert lost.value.code == "server_lost"
    assert positions(database) == before
    done(database, step("run_a", "0.1"))
    assert positions(database) == [*before, "0.1"]
    database.close()


def test_a_fate_that_nobody_can_tell_is_open(url: str, between: Relay) -> None:
    database = through(url, between, busy_seconds=0.3)
    done(database, step("run_a", "0.1"))

    def leave(boundaries: list[str]) -> None:
        between.arm("lose-answer", COMMIT)
        between.shut()

    database._hooks = Hooks(before_commit=leave)
    with pytest.raises(StorageError) as lost:
        database.apply([step("run_a", "0.2")])
    assert lost.value.code == "storage_failed"
    assert "fate" in lost.value.message
    database.close()


def test_connections_that_broke_while_idle_are_made_anew(url: str, between: Relay) -> None:
    database = through(url, between)
    assert positions(database) == [None]
    between.cut()
    done(database, step("run_a", "0.1"))
    between.cut()
    assert positions(database) == [None, "0.1"]
    between.cut()
    assert database.data_version() is not None
    database.close()


def test_a_host_that_never_answers_is_given_up_in_time(url: str, between: Relay) -> None:
    """Each attempt to reach it lasts until its own time-out: they count, and not only the pauses between."""
    between.silence()
    address = PostgresAddress.of(url.replace(f":{shared().port}/", f":{between.port}/"))
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        reach(address, 1.0)
    # One, begun in the first second and over after two; the pauses alone would make it eleven.
    assert between.unanswered <= 3


def test_a_commit_of_ours_between_two_looks_hides_none_of_others(url: str) -> None:
    database, other = (PostgresDatabase(PostgresAddress.of(url), SetClock()) for _ in range(2))
    before = database.data_version()
    read = database._readers.one

    def meanwhile(name: str) -> Any:
        row = read(name)
        done(database, step("run_a", "ours"))
        return row

    done(other, step("run_a", "theirs"))
    database._readers.one = meanwhile
    assert database.data_version() == before + 1, "theirs, seen before ours was committed"
    database._readers.one = read
    assert database.data_version() == before + 1, "and ours is no news"
    database.close()
    other.close()


FROZEN = """
import os, signal, sys
from counterfoil.store.port import Hooks
from counterfoil.store.postgres import PostgresDatabase
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.conformance.bench import SetClock, step
def freeze(boundaries):
    print("frozen", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
database = PostgresDatabase(PostgresAddress.of(sys.argv[1]), SetClock(), hooks=Hooks(before_commit=freeze), frozen_seconds=0.5)
try:
    database.apply([step("run_a", "frozen")])
except Exception as problem:
    print(problem.code, flush=True)
"""


def test_who_is_frozen_in_a_batch_is_ended_and_the_others_go_on(url: str) -> None:
    frozen = subprocess.Popen([sys.executable, "-c", FROZEN, url], stdout=subprocess.PIPE, text=True)
    try:
        assert frozen.stdout is not None
        assert frozen.stdout.readline() == "frozen\n"
        database = PostgresDatabase(PostgresAddress.of(url), SetClock())
        done(database, step("run_a", "0.1"))
        os.kill(frozen.pid, signal.SIGCONT)
        assert frozen.stdout.readline() == "server_lost\n"
        assert positions(database) == [None, "0.1"]
        database.close()
    finally:
        frozen.kill()
        frozen.communicate()


def test_who_is_frozen_in_the_middle_of_a_send_is_ended_by_whoever_waits(url: str, between: Relay) -> None:
    """The server waits for the rest of a message, which is no idle transaction to it."""
    frozen = through(url, between)
    between.arm("stall", COMMIT)
    with ThreadPoolExecutor(1) as sending:
        fate = sending.submit(frozen.apply, [step("run_a", "frozen")])
        assert between.hit.wait(20)
        database = PostgresDatabase(PostgresAddress.of(url), SetClock(), busy_seconds=1.0, frozen_seconds=0.3)
        done(database, step("run_a", "0.1"))
        with pytest.raises(StorageError) as lost:
            fate.result(20)
    assert lost.value.code == "server_lost", "nothing of it was stored"
    assert positions(database) == [None, "0.1"]
    database.close()
    frozen.close()


def test_a_holder_that_stays_is_busy(url: str) -> None:
    database = PostgresDatabase(PostgresAddress.of(url), SetClock(), busy_seconds=0.2)
    other = PostgresDatabase(PostgresAddress.of(url), SetClock())

    def meanwhile(tx: Any) -> None:
        with pytest.raises(StorageError) as busy:
            database.apply([step("run_a", "0.1")])
        assert busy.value.code == "database_busy"
        assert "counterfoil at " in busy.value.message and "(server process " in busy.value.message

    done(other, Act((), meanwhile))
    done(database, step("run_a", "0.1"))
    database.close()
    other.close()


def test_a_server_that_is_killed_and_a_standby() -> None:
    with running() as server, server.database() as url:
        database = PostgresDatabase(PostgresAddress.of(url), SetClock(), create=True)
        done(database, Act((), install))
        done(database, submit("run_a"))
        server.kill()
        with pytest.raises(StorageError) as away, database.reader():
            pass
        assert away.value.code == "server_lost"
        server.start()
        done(database, step("run_a", "0.1"))
        assert positions(database) == [None, "0.1"]
        database.close()
        with server.replica() as standby, pytest.raises(Refused) as refused:
            PostgresDatabase(PostgresAddress.of(url.replace(f":{server.port}/", f":{standby.port}/")), SetClock())
        assert refused.value.code == "read_only"


def test_a_ledger_that_went_back_while_it_was_open_is_refused(url: str) -> None:
    database = PostgresDatabase(PostgresAddress.of(url), SetClock())
    done(database, step("run_a", "0.1"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE installation SET batches = batches - 1")
    with pytest.raises(StorageError, match="older"):
        database.apply([step("run_a", "0.2")])
    database.close()
