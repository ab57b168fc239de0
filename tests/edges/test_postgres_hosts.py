"""Hosts of one ledger on a server, each with a state folder of its own: a new one joins, and a restored database is recognised."""

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from counterfoil import App, Budget, Refused, Run
from counterfoil.app.opening import Founding
from counterfoil.engine import clock, standing, worker
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.opened import Opened
from counterfoil.engine.restoring import FinishRestore
from counterfoil.model.installation import HostRecord, LostRunRecord, WorkerRecord
from counterfoil.store.marker import Head
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.case_schema import SchemaLedger
from tests.servers.postgres import shared

FOUNDING = Founding(single_person=True, people=(NewPerson("ana", ("manager",), "unused"),))


@dataclass(slots=True)
class Fleet:
    """One ledger, and the hosts that open it: each a machine and a state folder."""

    ledger: SchemaLedger
    folder: Path
    patch: pytest.MonkeyPatch
    open_ones: list[App] = field(default_factory=list[App])

    def app(self, host: str, *, machine: str | None = None) -> App:
        """An application on this host, not opened yet; nothing of another host is opened before it is."""
        self.patch.setenv("COUNTERFOIL_STATE", str(self.folder / host))
        for module in (clock, standing):
            self.patch.setattr(module, "machine_id", lambda: machine or host)
        app = App("shop", db=self.ledger.db)

        @app.workflow(version=1, budget=Budget(attempts=2, elapsed=timedelta(days=1), spend_usd=1, owner="ana"))
        async def buy(run: Run, number: str) -> str:
            return number

        assert buy.name == "buy"
        self.open_ones.append(app)
        return app

    def at(self, host: str, *, machine: str | None = None) -> App:
        """The same, opened."""
        app = self.app(host, machine=machine)
        app.open()
        return app

    def looks(self, host: str) -> object:
        """What is known of a restore where this host opens the ledger, and closes it."""
        app = self.at(host)
        said = app.restore.status()["recognised_by"]
        app.close()
        return said

    def marker(self, host: str) -> Path:
        (found,) = (self.folder / host).glob("inst_*.json")
        return found


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Founded on the host `first`, with a run in it."""
    monkeypatch.setattr(worker, "HEARTBEAT_US", 200_000)
    with shared().database() as url:
        (tmp_path / "files").mkdir()
        fleet = Fleet(SchemaLedger.beside(PostgresAddress.of(url), tmp_path / "files"), tmp_path, monkeypatch)
        first = fleet.app("first")
        first.open(FOUNDING)
        submit(first, "1")
        first.close()
        yield fleet
        for app in fleet.open_ones:
            app.close()


def submit(app: App, number: str) -> str:
    workflow = app.registry.workflows["buy", 1]
    return asyncio.run(app.submit(workflow, number, request_id=number)).run_id


def forbid(app: App, reason: str) -> None:
    """A commit that the outside marker follows."""
    asyncio.run(app.writes.suspend(all_=True, by="ana", reason=reason))


def beat(app: App) -> None:
    """What a worker does with each heartbeat."""
    standing.stand(app.open())


@contextmanager
def working(app: App) -> Generator[None]:
    """A worker of this application is at work, in a thread of its own, as a process of its host."""
    opened, over = app.open(), threading.Event()

    async def work() -> None:
        at_work = app.new_worker()
        part = asyncio.create_task(at_work.run())
        await asyncio.to_thread(over.wait)
        at_work.stop()
        await part

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    while all(each.stopped_at is not None for each in workers(opened)):
        threading.Event().wait(0.02)
    try:
        yield
    finally:
        over.set()
        thread.join()


def workers(opened: Opened) -> list[WorkerRecord]:
    with opened.read() as reader:
        return reader.lists.workers()


def hosts(app: App) -> dict[str, HostRecord]:
    with app.open().read() as reader:
        return {host.machine: host for host in reader.rows(HostRecord)}


def test_a_new_host_joins_while_another_works(fleet: Fleet) -> None:
    first = fleet.at("first")
    with working(first):
        second = fleet.at("second")
        assert second.restore.status()["state"] is None
        forbid(second, "from the second host")
    second.close()
    first.close()
    assert fleet.looks("first") is None and fleet.looks("second") is None
    assert {host.known_at is not None and host.asked_at is None for host in hosts(fleet.at("first")).values()} == {True}
    assert fleet.marker("first") != fleet.marker("second")


def test_a_new_host_for_which_none_answers_is_refused_and_nothing_is_suspended(fleet: Fleet) -> None:
    with pytest.raises(Refused) as refused:
        fleet.at("second")
    assert refused.value.code == "host_unvouched"
    assert fleet.looks("first") is None  # and by being started there it has answered
    assert fleet.looks("second") is None
    assert set(hosts(fleet.at("first"))) == {"first", "second"}


def test_hosts_of_a_ledger_without_a_run_join_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shared().database() as url:
        (tmp_path / "files").mkdir()
        fleet = Fleet(SchemaLedger.beside(PostgresAddress.of(url), tmp_path / "files"), tmp_path, monkeypatch)
        fleet.app("first").open(FOUNDING).close()
        assert fleet.looks("second") is None
        assert len(hosts(fleet.at("first"))) == 2
        for app in fleet.open_ones:
            app.close()


def joined(fleet: Fleet, host: str) -> None:
    with pytest.raises(Refused):
        fleet.at(host)
    fleet.looks("first")
    fleet.looks(host)


def test_a_database_that_does_not_know_a_host_that_it_knew_is_restored(fleet: Fleet) -> None:
    backup = fleet.ledger.back_up()
    joined(fleet, "second")
    fleet.ledger.put_back(backup, whole=False)
    assert fleet.looks("first") is None, "nothing was sent since, and its own marker is not ahead"
    assert fleet.looks("second") == "forgotten"
    second = fleet.at("second")
    finished(second)
    second.close()
    assert fleet.at("second").restore.status()["state"] == "finished", "it is recognised once"


def finished(app: App) -> None:
    """As a person does it, whose secret is not this test's."""
    opened = app.open()
    with opened.read() as reader:
        opened.writer.ask(FinishRestore.over(reader, opened.installation_id, "restored", "ana", "looked", ()))


def test_what_another_host_sent_is_known_on_each_that_works(fleet: Fleet) -> None:
    joined(fleet, "second")
    backup = fleet.ledger.back_up()
    first, second = fleet.at("first"), fleet.at("second")
    forbid(second, "after the backup")
    fleet.patch.setattr(standing, "machine_id", lambda: "first")
    beat(first)
    first.close()
    second.close()
    fleet.ledger.put_back(backup, whole=False)
    assert fleet.looks("first") == "behind", "though it has sent nothing itself"


def test_a_database_that_goes_back_under_a_working_host_is_recognised_by_its_heartbeat(fleet: Fleet) -> None:
    joined(fleet, "second")
    backup = fleet.ledger.back_up()
    second = fleet.at("second")
    forbid(second, "after the backup")
    second.close()
    first = fleet.at("first")
    fleet.ledger.put_back(backup, whole=False)
    beat(first)
    assert first.restore.status()["recognised_by"] == "behind"
    first.close()
    assert fleet.looks("first") == "behind"


def test_a_lost_marker_of_a_known_host_begins_anew_where_another_answers(fleet: Fleet) -> None:
    joined(fleet, "second")
    first = fleet.at("first")
    fleet.marker("second").unlink()
    with working(first):
        second = fleet.at("second")
        assert second.restore.status()["state"] is None
        assert fleet.marker("second").exists()


@pytest.mark.parametrize("all_of_it", [False, True])
def test_a_lost_marker_for_which_none_answers_is_a_restore(fleet: Fleet, all_of_it: bool) -> None:
    """Also where the whole state folder is lost: this machine is one that the ledger knows."""
    for file in (fleet.folder / "first").iterdir():
        if all_of_it or file.suffix == ".json":
            file.unlink()
    assert fleet.looks("first") == "missing"


def test_a_person_begins_the_restore_where_no_host_is_left(fleet: Fleet) -> None:
    app = fleet.app("second")
    asyncio.run(app.restore.begin(by="ana", reason="both are lost"))
    assert app.restore.status()["suspended"]
    finished(app)
    app.close()
    again = fleet.at("second")
    assert (again.restore.status()["state"], len(hosts(again))) == ("finished", 2)


def test_runs_that_only_one_host_knows_are_counted_when_it_comes_back(fleet: Fleet) -> None:
    joined(fleet, "second")
    backup = fleet.ledger.back_up()
    second = fleet.at("second")
    run_id = submit(second, "lost")
    with second.open().read() as reader:
        head = next(run for run in reader.lists.runs().items if run.run_id == run_id)
    marker = second.open().marker
    assert marker is not None
    marker.append_heads([Head(run_id, head.sequence, head.head)])
    second.close()
    fleet.ledger.put_back(backup, whole=False)
    first = fleet.at("first")
    asyncio.run(first.restore.begin(by="ana", reason="I put it back"))
    finished(first)
    first.close()
    second = fleet.at("second")
    with second.open().read() as reader:
        assert reader.get(LostRunRecord, run_id) is not None
