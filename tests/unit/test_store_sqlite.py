"""Opening a file that may not be ours, and what a disk may do while it is open."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.model.errors import Refused
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord
from counterfoil.store import sqlite
from counterfoil.store.migrate import APPLICATION_ID, newest
from counterfoil.store.port import Read, StorageError
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.store.verify import verify
from counterfoil.testing.conformance.bench import Act, SetClock, done, install, putting, step, submit
from counterfoil.testing.powercut import PowerCut


def opened(path: Path, **options: Any) -> SqliteDatabase:
    return SqliteDatabase(path, SetClock(), create=True, **options)


def installed(path: Path, **options: Any) -> SqliteDatabase:
    database = opened(path, **options)
    done(database, Act((), install, boundary="installed"))
    done(database, submit("run_a"))
    return database


def refusal_of(path: Path, *, create: bool = False, vfs: str | None = None) -> str:
    with pytest.raises(Refused) as caught:
        SqliteDatabase(path, SetClock(), create=create, vfs=vfs)
    assert str(path) in caught.value.message or "schema" in caught.value.message
    return caught.value.code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_a_missing_file_is_no_database_and_is_not_made(path: Path) -> None:
    assert refusal_of(path) == "no_database"
    assert not path.exists()


def test_an_empty_file_becomes_one_only_when_asked(path: Path) -> None:
    path.touch()
    assert refusal_of(path) == "no_database"
    assert path.read_bytes() == b""
    installed(path).close()
    SqliteDatabase(path, SetClock()).close()


@pytest.mark.parametrize("create", [False, True])
def test_another_file_is_not_ours_and_stays_as_it_is(path: Path, create: bool) -> None:
    path.write_bytes(b"minutes of the meeting, and more than sixteen bytes")
    assert refusal_of(path, create=create) == "not_ours"
    assert path.read_bytes() == b"minutes of the meeting, and more than sixteen bytes"


@pytest.mark.parametrize("create", [False, True])
def test_another_programs_database_is_not_ours_and_stays_as_it_is(path: Path, create: bool) -> None:
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE songs (title TEXT)")
    other.close()
    before = path.read_bytes()
    assert refusal_of(path, create=create) == "not_ours"
    assert path.read_bytes() == before


def test_a_damaged_database_is_not_ours(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + bytes(84) + b"rubbish" * 1000)
    assert refusal_of(path) == "not_ours"


@pytest.mark.parametrize("create", [False, True])
def test_a_folder_is_not_ours(tmp_path: Path, create: bool) -> None:
    assert refusal_of(tmp_path, create=create) == "not_ours"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no folder"):
        opened(tmp_path / "nowhere" / "ledger.db")


def test_many_that_make_it_at_once_make_one(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        databases = list(threads.map(lambda _: opened(path), range(8)))
    done(databases[0], Act((), install))
    with databases[-1].reader() as reader:
        assert reader.installation is not None
    for database in databases:
        database.close()


def test_a_newer_schema_is_refused_and_untouched(path: Path) -> None:
    installed(path).close()
    other = apsw.Connection(str(path))
    other.pragma("user_version", newest() + 1)
    other.close()
    before = path.read_bytes()
    assert refusal_of(path) == "newer_schema"
    assert path.read_bytes() == before


class ReadOnlyLayer(apsw.VFS):
    """Opens every main file for reading only, as a file without write permission is."""

    def __init__(self) -> None:
        super().__init__("read-only", apsw.vfs_names()[0])

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            flags[0] = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
        return apsw.VFSFile(apsw.vfs_names()[0], name, flags)


def test_a_file_that_may_not_be_written_is_refused(path: Path) -> None:
    installed(path).close()
    layer = ReadOnlyLayer()
    try:
        assert refusal_of(path, vfs="read-only") == "storage_failed"
    finally:
        layer.unregister()


def test_the_file_names_itself_and_its_settings_keep_the_promise(path: Path) -> None:
    database = installed(path)
    writer = database._writer
    assert writer is not None
    assert {name: writer.pragma(name) for name in ("journal_mode", "synchronous", "fullfsync", "foreign_keys")} == {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "foreign_keys": 1,
    }
    assert (writer.pragma("application_id"), writer.pragma("user_version")) == (APPLICATION_ID, newest())
    database.close()


def test_a_reader_cannot_write(path: Path) -> None:
    database = installed(path)
    with pytest.raises(StorageError), database.reader() as reader:
        reader._questions.run("DELETE FROM entries", {})
    database.close()


def test_a_held_lock_is_waited_for_and_then_named(path: Path) -> None:
    database = installed(path, busy_seconds=0.05)
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError) as caught:
        database.apply([step("run_a", "0.1")])
    assert (caught.value.code, caught.value.details) == ("database_busy", {"seconds": "0.05", "holder": ""})
    holder.execute("ROLLBACK")
    holder.close()
    (entry,) = done(database, step("run_a", "0.1"))
    assert entry.sequence == 1
    database.close()


def put_aside(path: Path) -> None:
    path.rename(path.with_name("aside.db"))


def replaced(path: Path) -> None:
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


@pytest.mark.parametrize("change", [put_aside, replaced])
def test_a_file_that_is_taken_away_gets_no_more_commits(path: Path, change: Callable[[Path], None]) -> None:
    database = installed(path)
    change(path)
    for _ in range(2):
        with pytest.raises(StorageError, match="removed or replaced"):
            database.apply([step("run_a", "0.1")])
        with pytest.raises(StorageError, match="removed or replaced"), database.reader():
            pass
    database.close()


def test_a_file_whose_content_was_put_back_gets_no_more_commits(path: Path) -> None:
    database = installed(path)
    done(database, step("run_a", "0.1"))
    other = apsw.Connection(str(path))
    other.execute("UPDATE installation SET batches = batches - 1")
    other.close()
    for _ in range(2):
        with pytest.raises(StorageError, match="became older"):
            database.apply([step("run_a", "0.2")])
    with database.reader() as reader:
        assert len(reader.entries("run_a")) == 2
    database.close()


@pytest.fixture
def power() -> Generator[PowerCut, None, None]:
    with PowerCut() as power:
        yield power


def people(database: SqliteDatabase) -> list[str]:
    with database.reader() as reader:
        assert verify(reader).sound
        return [person.name for person in reader.rows(PersonRecord)]


def large(name: str) -> Act:
    return putting(PersonRecord(name, "x" * 200_000, "hash", None, 1, None))


def test_a_full_disk_stores_nothing_of_the_batch_and_heals(path: Path, power: PowerCut) -> None:
    database = installed(path, vfs=power.vfs_name)
    power.disk_full_after(50_000)
    for _ in range(2):
        with pytest.raises(StorageError) as caught:
            database.apply([step("run_a", "0.1"), large("ana")])
        assert caught.value.code == "disk_full"
        assert people(database) == []
    power.disk_full_after(None)
    done(database, step("run_a", "0.1"), large("ana"))
    assert people(database) == ["ana"]
    database.close()


def test_after_a_failed_flush_the_connection_is_another_one(path: Path, power: PowerCut) -> None:
    database = installed(path, vfs=power.vfs_name)
    before = database._writer
    version = database.data_version()
    power.flush_fails_at(power.flushes + 1)
    with pytest.raises(StorageError, match="a flush to disk failed") as caught:
        database.apply([large("ana")])
    assert caught.value.code == "storage_failed"
    done(database, large("oscar"))
    assert database._writer is not before
    assert database.data_version() != version
    assert people(database) == ["oscar"]
    database.close()


def test_a_failed_flush_of_a_checkpoint_loses_no_commit(
    path: Path, power: PowerCut, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = installed(path, vfs=power.vfs_name)
    before = database._writer
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 1)
    power.flush_fails_at(power.flushes + 3)  # the commit's, the log's before the copy, then the file's
    done(database, large("ana"))
    assert database._writer is not before
    done(database, large("oscar"))
    assert people(database) == ["ana", "oscar"]
    database.close()


def test_a_long_log_is_moved_into_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = installed(path)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 100)
    for number in range(40):
        done(database, large(f"person {number}"))
    log = path.with_name("ledger.db-wal")
    assert path.stat().st_size > 40 * 200_000
    assert log.stat().st_size < 2_000_000
    database.close()
    assert not log.exists()


def statements_of(database: SqliteDatabase, action: Callable[[], Any]) -> list[str]:
    seen: list[str] = []

    def trace(cursor: Any, statement: str, bindings: Any) -> bool:
        seen.append(" ".join(statement.split())[:28])
        return True

    writer = database._writer
    assert writer is not None
    writer.exec_trace = trace
    action()
    writer.exec_trace = None
    return seen


def test_a_batch_of_steps_costs_one_read_of_runs_and_two_writes(path: Path) -> None:
    database = installed(path)
    names = [f"run_{number}" for number in range(16)]
    done(database, *map(submit, names))
    seen = statements_of(database, lambda: done(database, *(step(name, "0.1") for name in names)))
    assert seen == [
        "BEGIN IMMEDIATE",
        "SELECT * FROM installation",
        'SELECT "run_id", "number", "',
        'UPDATE runs SET "sequence" =',
        'INSERT INTO entries ("run_id',
        'UPDATE installation SET "bat',
        "COMMIT",
    ]
    database.close()


def test_a_lease_is_a_small_write_and_touches_no_state(path: Path) -> None:
    database = installed(path)

    def lease(tx: Any) -> None:
        tx.put(replace(tx.must(RunRecord, "run_a"), fence=2, lease_until=5))

    seen = statements_of(database, lambda: done(database, Act((Read.key(RunRecord, "run_a"),), lease)))
    assert [s for s in seen if s.startswith("UPDATE runs")] == ['UPDATE runs SET "fence" = ?,']
    database.close()


def test_of_a_run_only_what_differs_is_written_and_like_runs_together(path: Path) -> None:
    database = installed(path)
    names = [f"run_{n}" for n in range(6)]
    done(database, *map(submit, names))

    def change(number: int) -> Act:
        def decide(tx: Any) -> None:
            run = tx.must(RunRecord, f"run_{number}")
            tx.put(replace(run, fence=number + 7) if number % 2 else replace(run, lease_until=5, due_at=number))

        return Act((Read.key(RunRecord, f"run_{number}"),), decide)

    with database.reader() as reader:
        before = [reader.get(RunRecord, name) for name in names]
    seen = statements_of(database, lambda: done(database, *map(change, range(6))))
    with database.reader() as reader:
        after = [reader.get(RunRecord, name) for name in names]
    assert len({statement for statement in seen if statement.startswith("UPDATE runs")}) == 2
    for number, (was, run) in enumerate(zip(before, after, strict=True)):
        assert was is not None
        assert run == (replace(was, fence=number + 7) if number % 2 else replace(was, lease_until=5, due_at=number))
    database.close()


def test_rows_of_many_tables_are_read_once_each(path: Path) -> None:
    database = installed(path)
    look = Act((Read.key(RunRecord, "run_a"), Read.by(RunRecord, "parent_run_id", "run_a")), lambda tx: None)
    seen = statements_of(database, lambda: done(database, *[look] * 50))
    assert len([statement for statement in seen if statement.startswith("SELECT")]) == 3
    assert seen[-1] == "ROLLBACK"
    database.close()
