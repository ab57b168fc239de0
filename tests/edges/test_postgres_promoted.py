"""Another server answers under the ledger's name: a standby that was promoted, or a base backup. Nothing is sent from it unasked
where commits may be missing; where every commit had waited for the standby, work goes on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.store.port import StorageError
from tests.servers.pgbouncer import pooled
from tests.servers.postgres import PostgresServer, Replica, running

SECRET = "promoted"
FOUNDING = Founding(people=(NewPerson("ana", ("manager",), hashed(SECRET, "aa")),))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
def app(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """A ledger from which something was forbidden, so that its marker follows."""
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    with server.database() as url:
        app = App("shop", db=url)
        app.open(FOUNDING)
        yield app
        app.close()


def forbid(app: App, reason: str) -> None:
    """A commit that the outside marker follows."""
    asyncio.run(app.writes.suspend(all_=True, by="ana", reason=reason))


def at(app: App, server: PostgresServer) -> dict[str, Any]:
    """The same address, as it were, and another server behind it: what is known of a restore there."""
    app.close()
    app.db = server.at(app.db or "")
    return app.restore.status()


def test_an_asynchronous_standby_that_was_promoted_is_a_restore(server: PostgresServer, app: App) -> None:
    """Also where it has all that was sent: of the rest nobody can tell."""
    with server.replica() as standby:
        forbid(app, "before")
        server.stop()  # cleanly: what was committed has reached the standby
        standby.promote()
        found = at(app, standby)
        server.start()
    assert (found["suspended"], found["recognised_by"]) == (True, "promoted")


def test_a_synchronous_standby_that_was_promoted_goes_on(server: PostgresServer, app: App) -> None:
    with server.replica(synchronous=True) as standby:
        forbid(app, "before")
        server.kill()
        standby.promote()
        assert at(app, standby)["state"] is None
        forbid(app, "it goes on there")
        assert at(app, standby)["state"] is None
        server.start()


def test_commits_that_no_standby_confirmed_any_more_make_it_a_restore(server: PostgresServer, app: App) -> None:
    """The marker said that each was confirmed, and no send has moved it since."""
    with server.replica(synchronous=True) as standby:
        forbid(app, "confirmed")
        standby.stop()
        server.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        server.ask("SELECT pg_reload_conf()")
        while server.ask("SHOW synchronous_standby_names") != [("",)]:
            pass
        asyncio.run(app.people.add("bob", secret="bobs"))  # nothing that the marker follows
        server.kill()
        standby.start()
        standby.promote()
        found = at(app, standby)
        server.start()
    assert (found["suspended"], found["recognised_by"]) == (True, "promoted")


def test_a_restore_that_one_host_has_begun_is_not_begun_by_each(
    server: PostgresServer, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each host's marker knows the timeline that it followed: the other hosts' follow the new one once."""
    second = App("shop", db=app.db)
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "second"))
    second.open()  # nothing was submitted yet
    second.close()
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    with server.replica() as standby:
        forbid(app, "before")
        server.stop()
        standby.promote()
        begun = at(app, standby)
        asyncio.run(app.restore.finish(as_="restored", by="ana", secret=SECRET, reason="nothing is lost"))
        app.close()
        monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "second"))
        found = at(second, standby)
        second.close()
        assert second.restore.status()["incarnation"] == begun["incarnation"]
        second.close()
        server.start()
    assert (begun["recognised_by"], found["state"], found["suspended"]) == ("promoted", "finished", False)


def test_a_standby_that_was_behind_what_was_sent_is_a_restore(server: PostgresServer, app: App) -> None:
    with server.replica() as standby:
        standby.stop()
        forbid(app, "the standby has not heard of it")
        server.kill()
        standby.start()
        standby.promote()
        found = at(app, standby)
        server.start()
    assert (found["suspended"], found["recognised_by"]) == (True, "behind")


def test_a_base_backup_is_a_restore(server: PostgresServer, app: App) -> None:
    forbid(app, "before the backup")
    with Replica(server) as copy:
        copy.run("pg_basebackup", "--pgdata", str(copy.data), "--dbname", server.url_of("postgres"), "--wal-method=stream",
                 "--checkpoint=fast", "--no-sync")  # fmt: skip
        forbid(app, "after the backup")
        copy.start()
        found = at(app, copy)
    assert (found["suspended"], found["recognised_by"]) == (True, "behind")


@pytest.mark.parametrize("synchronous", [False, True])
def test_a_ledger_that_is_open_meanwhile(server: PostgresServer, app: App, synchronous: bool) -> None:
    """Behind one address the server becomes another one: who may lack commits writes nothing there."""
    with pooled(server) as pooler, server.replica(synchronous=synchronous) as standby:
        app.close()
        app.db = pooler.at(app.db or "")
        forbid(app, "before")
        if synchronous:
            server.kill()
        else:
            server.stop()
        standby.promote()
        pooler.point_at(standby)
        if synchronous:
            forbid(app, "it goes on there")
            assert app.restore.status()["state"] is None
        else:
            with pytest.raises(StorageError) as promoted:
                forbid(app, "not here")
            assert promoted.value.code == "server_promoted"
            app.close()
            assert app.restore.status()["recognised_by"] == "promoted"
        app.close()
        server.start()


def test_a_pooler_that_breaks_transactions_is_refused(server: PostgresServer, app: App) -> None:
    with pooled(server, mode="statement") as pooler:
        app.close()
        app.db = pooler.at(app.db or "")
        with pytest.raises(StorageError) as refused:
            app.open()
        assert refused.value.code == "unsupported_pooler"
