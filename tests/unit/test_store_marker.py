"""The outside marker recognises a restored file, a restored folder, a copy, a move, and its own absence."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from counterfoil.model.errors import Refused
from counterfoil.store.marker import SENTENCES, Difference, Head, OutsideMarker, Place, compare, file_still_there
from counterfoil.store.port import Mark, StorageError
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.conformance.bench import Act, SetClock, done, install, step, submit

HERE = "ins_sample"


@dataclass(slots=True)
class Ledger:
    """A database in one folder, its marker in another."""

    path: Path
    outside: Path

    def marker(self) -> OutsideMarker:
        return OutsideMarker(self.outside, HERE, lambda: Place.of(self.path))

    def found(self) -> Difference | None:
        """As at a worker's start."""
        database = SqliteDatabase(self.path, SetClock())
        marked = self.marker().read()
        with database.reader() as reader:
            installation = reader.installation
            assert installation is not None
            rolling = reader.rolling_at(marked.mark.in_flight_batch) if marked else None
        database.close()
        here = Place.of(self.path)
        return compare(marked, installation, here, rolling, lambda known: file_still_there(known, here))

    def work(self, *positions: str, sends: bool, flush: bool = True) -> None:
        database = SqliteDatabase(self.path, SetClock())
        for position in positions:
            done(database, step("run_a", position, sends=sends))
        if flush:
            self.marker().flush(database.marked())
        database.close()

    def saved(self) -> Path:
        copy = self.path.with_name("backup.db")
        shutil.copyfile(self.path, copy)
        return copy


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    folder = tmp_path / "data"
    folder.mkdir()
    ledger = Ledger(folder / "ledger.db", tmp_path / "state")
    database = SqliteDatabase(ledger.path, SetClock(), create=True)
    done(database, Act((), install))
    database.close()
    assert ledger.found() is None  # nothing but the installation: nothing to lose yet
    database = SqliteDatabase(ledger.path, SetClock())
    ledger.marker().flush(database.marked())
    done(database, submit("run_a"))
    database.close()
    return ledger


def test_the_same_database_is_recognised(ledger: Ledger) -> None:
    assert ledger.found() is None
    ledger.work("0.1", "0.2", sends=True)
    ledger.work("0.3", sends=False)
    assert ledger.found() is None


def test_a_crash_between_commit_and_marker_is_no_restore(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    ledger.work("0.2", "0.3", sends=True, flush=False)
    assert ledger.found() is None


def restore(ledger: Ledger, backup: Path) -> None:
    ledger.path.write_bytes(backup.read_bytes())  # the same inode: only the content tells


def test_a_restored_file(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    backup = ledger.saved()
    ledger.work("0.2", sends=True)
    restore(ledger, backup)
    assert ledger.found() == "behind"


def test_a_restored_file_that_lost_only_steps_is_none(ledger: Ledger) -> None:
    """Nothing was sent since: there is nothing that could be sent twice."""
    ledger.work("0.1", sends=True)
    backup = ledger.saved()
    ledger.work("0.2", sends=False)
    restore(ledger, backup)
    assert ledger.found() is None


def test_a_restored_file_that_was_written_to_unnoticed(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    backup = ledger.saved()
    ledger.work("0.2", "0.3", sends=True)
    restore(ledger, backup)
    ledger.work("9.2", "9.3", "9.4", sends=True, flush=False)
    assert ledger.found() == "rolled"


def test_a_restored_folder(ledger: Ledger, tmp_path: Path) -> None:
    ledger.work("0.1", sends=True)
    shutil.copytree(ledger.path.parent, tmp_path / "backup")
    ledger.work("0.2", sends=True)
    shutil.rmtree(ledger.path.parent)
    (tmp_path / "backup").rename(ledger.path.parent)
    assert ledger.found() == "behind"


def test_a_copy_opened_elsewhere(ledger: Ledger, tmp_path: Path) -> None:
    ledger.work("0.1", sends=True)
    copy = Ledger(tmp_path / "copy.db", ledger.outside)
    shutil.copyfile(ledger.path, copy.path)
    assert copy.found() == "copied"
    assert ledger.found() is None
    copy.work("0.2", sends=True)  # flushes, and must not take over the marker
    assert ledger.found() is None


def test_a_database_that_was_moved(ledger: Ledger, tmp_path: Path) -> None:
    ledger.work("0.1", sends=True)
    moved = Ledger(tmp_path / "moved.db", ledger.outside)
    ledger.path.rename(moved.path)
    assert moved.found() == "moved"


def test_another_file_in_its_place_with_equal_content(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    backup = ledger.saved()
    backup.replace(ledger.path)
    assert ledger.found() == "moved"


def test_a_missing_marker(ledger: Ledger) -> None:
    shutil.rmtree(ledger.outside)
    assert ledger.found() == "missing"


def test_a_marker_of_another_installation(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    file = ledger.outside / f"{HERE}.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"installation_id": "ins_other"}))
    assert ledger.found() == "rolled"


def test_every_difference_has_a_sentence() -> None:
    assert set(SENTENCES) == {"behind", "missing", "copied", "moved", "rolled", "promoted", "forgotten"}


def test_it_never_goes_back(ledger: Ledger) -> None:
    ledger.work("0.1", sends=True)
    marked = ledger.marker().read()
    assert marked is not None
    older = Mark(HERE, 1, marked.mark.in_flight_batch - 1, 0, bytes(32))
    ledger.marker().flush(older)
    assert ledger.marker().read() == marked


def test_a_restore_takes_the_marker_over(ledger: Ledger, tmp_path: Path) -> None:
    ledger.work("0.1", "0.2", sends=True)
    moved = Ledger(tmp_path / "moved.db", ledger.outside)
    ledger.path.rename(moved.path)
    begun = Mark(HERE, 2, 1, 1, bytes(32))
    moved.marker().flush(begun)
    read = moved.marker().read()
    assert read is not None
    assert (read.mark, read.place) == (begun, Place.of(moved.path))


def test_a_higher_incarnation_is_newer_than_any_number(ledger: Ledger) -> None:
    newer = Mark(HERE, 2, 1, 1, bytes(32))
    ledger.work("0.1", "0.2", "0.3", sends=True)
    ledger.marker().flush(newer)
    read = ledger.marker().read()
    assert read is not None
    assert read.mark == newer
    assert ledger.found() == "behind"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"installation_id": 1}'])
def test_a_damaged_marker_is_an_error_and_not_none(ledger: Ledger, text: str) -> None:
    (ledger.outside / f"{HERE}.json").write_text(text)
    with pytest.raises(Refused) as caught:
        ledger.marker().read()
    assert caught.value.code == "storage_failed"
    assert "marker" in caught.value.message


def test_a_marker_that_cannot_be_written_is_told(ledger: Ledger) -> None:
    shutil.rmtree(ledger.outside)
    ledger.outside.write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="the outside marker"):
        ledger.marker().flush(Mark(HERE, 1, 9, 9, bytes(32)))


def test_heads_are_the_newest_of_each_run(ledger: Ledger) -> None:
    marker = ledger.marker()
    assert marker.heads() == []
    for sequence, run_id in enumerate(("run_a", "run_b", "run_a")):
        marker.append_head(Head(run_id, sequence, bytes([sequence]) * 32))
    assert ledger.marker().heads() == [Head("run_a", 2, b"\x02" * 32), Head("run_b", 1, b"\x01" * 32)]


def test_a_torn_last_line_of_heads_is_left_out(ledger: Ledger) -> None:
    marker = ledger.marker()
    marker.append_head(Head("run_a", 1, bytes(32)))
    with (ledger.outside / f"{HERE}.heads").open("a") as file:
        file.write('{"run_id": "run_a", "seq')
    assert marker.heads() == [Head("run_a", 1, bytes(32))]
    marker.append_head(Head("run_b", 2, bytes(32)))
    assert {head.run_id for head in marker.heads()} == {"run_a", "run_b"}
