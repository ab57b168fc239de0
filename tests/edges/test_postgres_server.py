"""The PostgreSQL of the tests: it starts by itself, holds what was committed through every death, and leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.servers import postgres
from tests.servers.keeper import parents
from tests.servers.kept import ServerEnded
from tests.servers.postgres import PostgresServer, installed, running, shared

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One that these tests may kill."""
    with running() as started:
        yield started


def filled(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (number BIGINT)")
        connection.execute("INSERT INTO kept VALUES (1), (2)")


def numbers(server: PostgresServer, url: str) -> list[int]:
    return [row[0] for row in server.ask("SELECT number FROM kept ORDER BY number", url=url)]


def running_now(pids: list[int]) -> list[int]:
    return [pid for pid in pids if pid in parents()]


def test_what_is_committed_is_on_disk_before_it_is_answered(server: PostgresServer) -> None:
    shown = server.ask(
        "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'listen_addresses')"
    )
    assert dict(shown) == {"fsync": "on", "synchronous_commit": "on", "listen_addresses": "127.0.0.1"}


def test_each_database_is_fresh_and_is_dropped_though_somebody_is_in_it(server: PostgresServer) -> None:
    with server.database() as first, server.database() as second:
        filled(first)
        with pytest.raises(psycopg.errors.UndefinedTable):
            numbers(server, second)
        with psycopg.connect(second) as left_open:
            server.drop(second)
            with pytest.raises(psycopg.OperationalError):
                left_open.execute("SELECT 1")
        with server.database(template=first) as copied:
            assert numbers(server, copied) == [1, 2]
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        numbers(server, first)


def test_nobody_gets_in_without_the_secret(server: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url_of("postgres").replace(server.secret, "another"))


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
def test_a_restart_keeps_what_was_committed_and_the_url(by: signal.Signals, server: PostgresServer) -> None:
    with server.database() as url:
        filled(url)
        with psycopg.connect(url) as open_one:
            open_one.execute("INSERT INTO kept VALUES (3)")  # and no COMMIT
            before = server.kept.pids()
            assert len(before) > 3, "the postmaster, its helpers and this session"
            if by is signal.SIGKILL:
                server.kill()
            else:
                server.stop(by=by)
            assert running_now(before) == []
            with pytest.raises(psycopg.OperationalError):
                open_one.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="refused"):
            psycopg.connect(url)
        server.start()
        recovered = any("automatic recovery in progress" in line for line in server.kept.lines)
        assert recovered == (by is not signal.SIGINT)
        assert numbers(server, url) == [1, 2]


def test_a_frozen_server_answers_nothing_and_goes_on_when_it_is_thawed(server: PostgresServer) -> None:
    with server.database() as url, ThreadPoolExecutor(1) as aside:
        server.freeze()
        try:
            asked = aside.submit(server.ask, "SELECT 7", url=url)
            with pytest.raises(ServerEnded, match="no response"):
                server.run("pg_isready", "--host=127.0.0.1", f"--port={server.port}", "--timeout=1")
            assert not asked.done()
        finally:
            server.thaw()
        assert asked.result(30) == [(7,)]


def test_a_replica_follows_reads_only_and_is_promoted_to_another_timeline() -> None:
    timeline = "SELECT timeline_id FROM pg_control_checkpoint()"
    with running() as primary, primary.database() as url, primary.replica(synchronous=True) as standby:
        filled(url)
        assert primary.ask("SELECT sync_state FROM pg_stat_replication") == [("sync",)]
        # What was committed is on the standby's disk. This is answered when the standby shows it, too.
        primary.ask("SET synchronous_commit = 'remote_apply'; CREATE TABLE shown (number BIGINT)", url=url)
        assert numbers(standby, standby.at(url)) == [1, 2]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            standby.ask("INSERT INTO kept VALUES (3)", url=standby.at(url))
        primary.kill()
        standby.promote()
        standby.ask("INSERT INTO kept VALUES (3)", url=standby.at(url))
        assert numbers(standby, standby.at(url)) == [1, 2, 3]
        standby.ask("CHECKPOINT")
        assert standby.ask(timeline) == [(2,)]
        primary.start()
        assert (primary.ask(timeline), numbers(primary, url)) == ([(1,)], [1, 2])


def test_a_commit_waits_for_a_synchronous_replica_and_not_for_another() -> None:
    with running() as primary, primary.database() as url:
        filled(url)
        with primary.replica() as standby:
            standby.freeze()
            primary.ask("INSERT INTO kept VALUES (3)", url=url)
            standby.thaw()
        with primary.replica(synchronous=True) as standby, ThreadPoolExecutor(1) as aside:
            standby.freeze()
            committing = aside.submit(primary.ask, "INSERT INTO kept VALUES (4)", url=url)
            while not primary.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"):
                assert not committing.done()
            assert numbers(primary, url) == [1, 2, 3]
            standby.thaw()
            committing.result(30)
        assert numbers(primary, url) == [1, 2, 3, 4]


@pytest.mark.parametrize("version", sorted(installed()))
def test_every_version_that_is_here_starts(version: int) -> None:
    with running(version) as server, server.database() as url:
        filled(url)
        assert server.ask("SHOW server_version_num")[0][0].startswith(str(version))
        server.kill()
        server.start()
        assert numbers(server, url) == [1, 2]


def test_the_shared_one_is_one() -> None:
    assert shared() is shared()
    with shared().database() as url:
        filled(url)


STARTER = """
import sys
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import running
with running() as server, server.replica(synchronous=True) as standby, pooled(server) as pooler:
    if sys.argv[1] == "frozen":
        server.freeze()
    kept = (server.kept, standby.kept, pooler.kept)
    print(*(pid for one in kept for pid in one.pids()), sep=",")
    print(*(place.folder for place in (server, standby, pooler)), sep=",", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(("death", "state"), [(signal.SIGKILL, "frozen"), (signal.SIGTERM, "running")])
def test_nothing_is_left_when_the_process_of_the_tests_was_killed(death: signal.Signals, state: str) -> None:
    command = [sys.executable, "-c", STARTER, state]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        pids = [int(pid) for pid in tests.stdout.readline().split(",")]
        folders = [Path(folder) for folder in tests.stdout.readline().strip().split(",")]
        assert len(running_now(pids)) == len(pids) > 8
        assert all(folder.exists() for folder in folders)
        keepers = {parents()[pid] for pid in pids} - set(pids)
        assert len(keepers) == 3
        watched = [os.pidfd_open(pid) for pid in keepers]
        tests.send_signal(death)
        for pidfd in watched:  # readable when its process has ended
            assert select.select([pidfd], [], [], 30)[0]
            os.close(pidfd)
    assert running_now(pids) == []
    assert not any(folder.exists() for folder in folders)


def test_a_machine_without_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "installed", dict)
    with pytest.raises(FileNotFoundError, match="PostgreSQL is not installed"), running():
        pass
