"""The power goes at every flush there is: what apply answered is there, and the record is whole."""

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from counterfoil.model.journal import Entry
from counterfoil.store import sqlite
from counterfoil.store.port import Mark, StorageError
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.store.verify import verify
from counterfoil.testing.conformance.bench import Act, SetClock, done, install, step, submit
from counterfoil.testing.powercut import PowerCut, PowerWasCut, Survive

RUNS = ("run_a", "run_b")
BATCHES = 8


@dataclass(slots=True)
class Answered:
    """What apply has returned before the power went."""

    entries: list[Entry] = field(default_factory=list[Entry])
    mark: Mark | None = None


def story(path: Path, vfs: str, answered: Answered) -> None:
    """Installation, two runs, then batches of two steps; every third batch sends."""
    database = SqliteDatabase(path, SetClock(), create=True, vfs=vfs)
    try:
        done(database, Act((), install))
        done(database, *map(submit, RUNS))
        for number in range(BATCHES):
            sends = number % 3 == 0
            answered.entries += done(database, *(step(run_id, f"0.{number}", sends=sends) for run_id in RUNS))
            if sends:
                answered.mark = database.marked()
    finally:
        with suppress(PowerWasCut):
            database.close()


def check(path: Path, answered: Answered) -> None:
    """Opened as after a crash: everything answered is there, batches are whole, and work goes on."""
    database = SqliteDatabase(path, SetClock(), create=True)
    with database.reader() as reader:
        report = verify(reader)
        assert report.sound, report
        stored = {(entry.run_id, entry.sequence): entry for _, entry in reader.journal()}
        assert all(stored.get((entry.run_id, entry.sequence)) == entry for entry in answered.entries)
        lengths = {run_id: len(reader.entries(run_id)) for run_id in RUNS}
        # State before or state after: one batch at most beyond what was answered, and never half of it.
        assert lengths["run_a"] == lengths["run_b"]
        assert lengths["run_a"] - 1 - len(answered.entries) // 2 in (-1, 0, 1)
        if answered.mark is not None:
            # An operation that was ever sent has its record: the mark is never ahead of its database.
            assert reader.rolling_at(answered.mark.in_flight_batch) == answered.mark.rolling
        installed = reader.installation is not None
    if not installed:
        done(database, Act((), install))
    if lengths["run_a"] == 0:
        done(database, *map(submit, RUNS))
    done(database, *(step(run_id, "9.9") for run_id in RUNS))
    with database.reader() as reader:
        assert verify(reader).sound
    database.close()


@pytest.mark.parametrize("survive", ["none", "prefix", "random"])
def test_a_power_cut_at_every_flush(survive: Survive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 12)
    for cut_at in count(1):
        folder = tmp_path / f"{cut_at}"
        folder.mkdir()
        answered = Answered()
        with PowerCut(cut_at=cut_at, survive=survive, seed=cut_at) as power:
            with suppress(PowerWasCut):
                story(folder / "ledger.db", power.vfs_name, answered)
            if not power.gone:
                break
            power.freeze_to(folder / "after")
        check(folder / "after" / "ledger.db", answered)
    assert cut_at > BATCHES + 10
    assert len(answered.entries) == 2 * BATCHES


def test_a_failed_flush_at_every_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that fails once: the batch is told as failed, nothing answered is lost, and work goes on."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 12)
    told = 0
    for fails_at in count(1):
        folder = tmp_path / f"{fails_at}"
        folder.mkdir()
        answered = Answered()
        with PowerCut() as power:
            power.flush_fails_at(fails_at)
            try:
                story(folder / "ledger.db", power.vfs_name, answered)
            except StorageError as problem:
                assert problem.code == "storage_failed"
                told += 1
            over = power.flushes < fails_at
            power.cut()
            power.freeze_to(folder / "after")
        check(folder / "after" / "ledger.db", answered)
        if over:
            break
    assert told >= BATCHES
