import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import machine
from counterfoil.app.doctor import doctor
from counterfoil.app.doctor_checks import Check, checks_of
from counterfoil.app.doctor_facts import Facts, facts_of
from counterfoil.app.doctor_promises import FAILURES, promises_of
from counterfoil.app.located import InFile
from counterfoil.app.machine import Place, place_of
from counterfoil.engine.administration import SuspendWrites, begin_restore
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.store.sqlite_settings import live_settings, lock_holders
from tests.unit.opened_ledger import HOUR, SetClock, opened


def examined(here: Opened, tmp_path: Path, *, production: bool = False) -> dict[str, Any]:
    where, state = InFile(tmp_path / "data" / "ledger.db"), tmp_path / "state"
    return doctor(lambda: here, where=where, state=state, production=production)


def status_of(report: dict[str, Any], code: str) -> str:
    (found,) = [check["status"] for check in report["checks"] if check["code"] == code]
    return found


def test_a_fresh_installation_is_well(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        report = examined(here, tmp_path)
    assert {
        "backend",
        "version",
        "location",
        "synchronous",
        "filesystem",
        "ephemeral",
        "replicas",
        "marker_places",
    } <= set(report["storage"])
    assert (report["storage"]["backend"], report["storage"]["synchronous"]) == ("sqlite", "full")
    assert report["storage"]["marker_places"] == [str(tmp_path / "state")]
    assert report["unattended"] == []
    assert [check for check in report["checks"] if check["status"] == "refuse"] == []
    for check in report["checks"]:
        assert set(check) == {"code", "status", "message", "fix"}
        assert (check["fix"] is None) == (check["status"] == "ok")


def test_the_eight_promises_stand_with_their_evidence(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        report = examined(here, tmp_path)
    assert tuple(promise["failure"] for promise in report["promises"]) == FAILURES
    for promise in report["promises"]:
        assert set(promise) == {"failure", "survives", "because", "evidence", "improve"}
        assert promise["survives"] in ("yes", "no", "if")
        assert promise["because"]
        assert promise["evidence"]
    evidence = {promise["failure"]: promise["evidence"] for promise in report["promises"]}
    assert evidence["process_exits"].startswith("journal_mode=wal synchronous=full fullfsync=1, SQLite 3.")


def test_one_file_system_is_named_and_refused_in_production(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        assert status_of(examined(here, tmp_path), "restore_undetectable") == "warn"
        assert status_of(examined(here, tmp_path, production=True), "restore_undetectable") == "refuse"


def test_what_is_stopped_is_named(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        here.writer.ask(SuspendWrites(here.installation_id, "receiver:bank", "ana", "fire"))
        with here.read() as reader:
            verb = begin_restore(reader, "behind")
        here.writer.ask(verb)
        report = examined(here, tmp_path)
    assert status_of(report, "writes_suspended") == "warn"
    assert status_of(report, "restore_open") == "refuse"


def test_a_clock_behind_what_is_stored_is_refused(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        assert status_of(examined(here, tmp_path), "clock") == "ok"
        clock.now -= HOUR
        assert status_of(examined(here, tmp_path), "clock") == "refuse"


def test_a_database_that_cannot_be_opened_promises_nothing(tmp_path: Path) -> None:
    def missing() -> Opened:
        raise Refused("no_database", location="nowhere.db")

    report = doctor(missing, where=InFile(tmp_path / "nowhere.db"), state=None)
    assert [(check["code"], check["status"]) for check in report["checks"]] == [("no_database", "refuse")]
    assert {promise["survives"] for promise in report["promises"]} == {"no"}
    assert report["storage"]["version"] is None


HOLD = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_whoever_holds_the_write_lock_is_named(tmp_path: Path) -> None:
    location = tmp_path / "data" / "ledger.db"
    with opened(tmp_path) as here:
        assert status_of(examined(here, tmp_path), "write_lock") == "ok"
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(location)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            assert not live_settings(location).write_lock_free
            report = examined(here, tmp_path)
            assert status_of(report, "write_lock") == "warn"
            if lock_holders(location):  # a host that tells who holds a lock
                (message,) = [check["message"] for check in report["checks"] if check["code"] == "write_lock"]
                assert f"process {holder.pid}" in message
        finally:
            holder.communicate()


# ---------------------------------------------------------------------- made-up facts


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    with opened(tmp_path) as here:
        found = facts_of(here, InFile(tmp_path / "data" / "ledger.db"), tmp_path / "state")
    disk = Place("ext4", 1, 1 << 40)
    return replace(found, place=disk, marker_place=Place("ext4", 2, 1 << 40))


def check_in(facts: Facts, code: str, *, production: bool = False) -> Check:
    (found,) = [check for check in checks_of(facts, production=production) if check.code == code]
    return found


Change = Callable[[Facts], Facts]


def on(filesystem: str) -> Change:
    def changed(facts: Facts) -> Facts:
        assert facts.place is not None
        return replace(facts, place=replace(facts.place, filesystem=filesystem))

    return changed


@pytest.mark.parametrize(
    ("code", "change", "status", "in_production"),
    [
        ("filesystem_ephemeral", on("tmpfs"), "warn", "refuse"),
        ("filesystem_remote", on("nfs4"), "refuse", "refuse"),
        ("disk_space", lambda f: replace(f, place=replace(f.place, free_bytes=500 << 20)), "warn", "warn"),
        ("disk_space", lambda f: replace(f, place=replace(f.place, free_bytes=1 << 20)), "refuse", "refuse"),
        ("schema_version", lambda f: replace(f, settings=replace(f.settings, schema_version=0)), "refuse", "refuse"),
        ("synchronous", lambda f: replace(f, settings=replace(f.settings, synchronous="off")), "refuse", "refuse"),
        ("marker", lambda f: replace(f, marker="behind"), "refuse", "refuse"),
        ("marker", lambda f: replace(f, marker_problem="not readable"), "refuse", "refuse"),
        ("marker", lambda f: replace(f, marker_place=None), "warn", "refuse"),
        ("clock", lambda f: replace(f, clock_jumped=True), "refuse", "refuse"),
        ("people", lambda f: replace(f, people=1), "warn", "refuse"),
        ("waiting", lambda f: replace(f, overdue_reviews=2), "warn", "warn"),
    ],
)
def test_each_check_can_fail(facts: Facts, code: str, change: Change, status: str, in_production: str) -> None:
    assert check_in(facts, code).status == "ok"
    assert check_in(change(facts), code).status == status
    assert check_in(change(facts), code, production=True).status == in_production


@pytest.mark.parametrize(
    ("failure", "change", "before", "after"),
    [
        ("power_lost", on("tmpfs"), "yes", "no"),
        ("power_lost", lambda f: replace(f, settings=replace(f.settings, synchronous="normal")), "yes", "no"),
        ("workers_overlap", on("nfs4"), "yes", "no"),
        ("backup_restored", lambda f: replace(f, marker_place=None), "yes", "no"),
        ("backup_restored", lambda f: replace(f, marker_place=f.place), "yes", "if"),
    ],
)
def test_a_promise_follows_the_facts(facts: Facts, failure: str, change: Change, before: str, after: str) -> None:
    def survives(given: Facts) -> str:
        (found,) = [promise["survives"] for promise in promises_of(given) if promise["failure"] == failure]
        return found

    assert (survives(facts), survives(change(facts))) == (before, after)


def test_a_place_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    here, there = place_of(tmp_path), place_of(tmp_path / "not" / "yet" / "there")
    assert (here.device, here.filesystem) == (there.device, there.filesystem)
    assert here.free_bytes > 0


def test_the_innermost_mount_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "disk / ext4 rw 0 0\nram /run tmpfs rw 0 0\nusb /run/my\\040disk vfat rw 0 0\nover / overlay rw 0 0\n"
    monkeypatch.setattr(machine.Path, "read_text", lambda path, encoding: mounts)
    assert machine._filesystem(Path("/run/my disk/ledger.db")) == "vfat"
    assert machine._filesystem(Path("/run/other")) == "tmpfs"
    assert machine._filesystem(Path("/running")) == "overlay"  # the later mount of one place hides the earlier
