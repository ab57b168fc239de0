"""The layer drops what was not flushed, and SQLite with full flushes survives that at every flush there is."""

import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import apsw
import pytest

from counterfoil.testing.powercut import PowerCut, PowerWasCut, Survive

TRANSACTIONS = 6
WAL = ("wal", "full")


@dataclass
class Outcome:
    acknowledged: list[int] = field(default_factory=list[int])
    stored: list[int] = field(default_factory=list[int])
    cut: bool = False

    @property
    def lost(self) -> set[int]:
        return set(self.acknowledged) - set(self.stored)


@contextmanager
def connected(
    path: Path, power: PowerCut, journal: str, synchronous: str, locking: str = "normal"
) -> Generator[apsw.Connection, None, None]:
    connection = apsw.Connection(str(path), vfs=power.vfs_name)
    try:
        connection.pragma("locking_mode", locking)
        connection.pragma("synchronous", synchronous)
        connection.pragma("journal_mode", journal)
        connection.pragma("wal_autocheckpoint", 8)
        connection.execute("CREATE TABLE IF NOT EXISTS pair (number INTEGER, half INTEGER, body BLOB)")
        yield connection
    finally:
        with suppress(PowerWasCut):
            connection.close()


def work(connection: apsw.Connection, acknowledged: list[int], numbers: range = range(TRANSACTIONS)) -> None:
    """Each transaction writes two halves over several pages, and is acknowledged after its COMMIT."""
    for number in numbers:
        connection.execute("BEGIN IMMEDIATE")
        for half in (1, 2):
            connection.execute("INSERT INTO pair VALUES (?, ?, ?)", (number, half, bytes([number]) * 6000))
        connection.execute("COMMIT")
        acknowledged.append(number)


def count_in(connection: apsw.Connection) -> int:
    return connection.execute("SELECT count(DISTINCT number) FROM pair").get


def stored_in(path: Path) -> list[int]:
    """The transactions found by plain SQLite. Asserts a sound file and that no transaction is there by half."""
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    if not connection.table_exists(None, "pair"):
        return []
    rows = connection.execute("SELECT number, group_concat(half, '+'), min(body), max(body) FROM pair GROUP BY number")
    found: list[int] = []
    for number, halves, least, most in rows:
        assert halves == "1+2"
        assert least == most == bytes([number]) * 6000
        found.append(number)
    connection.close()
    return found


def run(
    folder: Path, mode: tuple[str, str], *, cut_at: int | None, survive: Survive = "none", seed: int = 0
) -> Outcome:
    """Work until the power goes at flush `cut_at`, or after the last acknowledgement, and look at what is left."""
    folder.mkdir()
    outcome = Outcome()
    with PowerCut(cut_at=cut_at, survive=survive, seed=seed) as power:
        try:
            with connected(folder / "a.db", power, *mode) as connection:
                work(connection, outcome.acknowledged)
                power.cut()
        except PowerWasCut:
            outcome.cut = True
        power.freeze_to(folder / "left")
    outcome.stored = stored_in(folder / "left" / "a.db")
    assert outcome.stored == list(range(len(outcome.stored)))
    assert len(outcome.stored) <= len(outcome.acknowledged) + 1
    return outcome


def every_cut(folder: Path, mode: tuple[str, str], survive: Survive = "none", seed: int = 0) -> Iterator[Outcome]:
    """One run for each flush number, until one ends without a cut."""
    for number in count(1):
        outcome = run(folder / f"{survive}-{seed}-{number}", mode, cut_at=number, survive=survive, seed=seed)
        yield outcome
        if not outcome.cut:
            assert outcome.acknowledged == list(range(TRANSACTIONS))
            return


@pytest.mark.parametrize(
    "mode", [WAL, ("wal", "extra"), ("delete", "extra"), ("truncate", "full"), ("persist", "full")], ids="-".join
)
def test_nothing_acknowledged_is_lost_at_any_flush(tmp_path: Path, mode: tuple[str, str]) -> None:
    outcomes = list(every_cut(tmp_path, mode))
    assert len(outcomes) > TRANSACTIONS
    assert [outcome.lost for outcome in outcomes if outcome.lost] == []


@pytest.mark.parametrize("survive", ["prefix", "random"])
@pytest.mark.parametrize("mode", [WAL, ("delete", "extra")], ids="-".join)
def test_nothing_acknowledged_is_lost_when_some_unflushed_sectors_survive(
    tmp_path: Path, mode: tuple[str, str], survive: Survive
) -> None:
    outcomes = [outcome for seed in range(6) for outcome in every_cut(tmp_path, mode, survive, seed)]
    assert [outcome.lost for outcome in outcomes if outcome.lost] == []
    # Both ends were met: a transaction in flight that survived, and one that did not.
    in_flight = {len(outcome.stored) - len(outcome.acknowledged) for outcome in outcomes if outcome.cut}
    assert in_flight == {0, 1}


def test_without_flushes_the_same_work_loses_all_it_acknowledged(tmp_path: Path) -> None:
    outcome = run(tmp_path / "off", ("wal", "off"), cut_at=None)
    assert outcome.acknowledged == list(range(TRANSACTIONS))
    assert outcome.stored == []


def test_with_flushes_at_checkpoints_only_the_newest_are_lost(tmp_path: Path) -> None:
    outcomes = list(every_cut(tmp_path, ("wal", "normal")))
    assert any(outcome.lost and outcome.stored for outcome in outcomes)


def test_a_deletion_whose_folder_was_not_flushed_comes_back(tmp_path: Path) -> None:
    # FULL does not flush the folder after it deletes the journal, which rolls the transaction back at the next start.
    assert any(outcome.lost for outcome in every_cut(tmp_path, ("delete", "full")))


def test_without_flushes_torn_sectors_break_the_file(tmp_path: Path) -> None:
    def breaks(seed: int) -> bool:
        try:
            run(tmp_path / str(seed), ("delete", "off"), cut_at=None, survive="random", seed=seed)
        except (AssertionError, apsw.Error):
            return True
        return False

    assert any(breaks(seed) for seed in range(10))


def test_the_same_seed_ends_the_same_way(tmp_path: Path) -> None:
    def ends(folder: str, seed: int) -> tuple[int, ...]:
        (tmp_path / folder).mkdir()
        return tuple(len(outcome.stored) for outcome in every_cut(tmp_path / folder, WAL, "prefix", seed))

    assert ends("again", 0) == ends("first", 0)
    assert len({ends(f"seed {seed}", seed) for seed in range(4)}) > 1


def test_a_second_connection_reads_what_was_committed_and_fails_after_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with PowerCut() as power:
        with connected(path, power, *WAL) as writer, connected(path, power, *WAL) as reader:
            for number in range(TRANSACTIONS):
                work(writer, [], range(number, number + 1))
                assert reader.execute("SELECT count(*) FROM pair").get == 2 * (number + 1)
            power.cut()
            with pytest.raises(PowerWasCut):
                work(writer, [])
            with pytest.raises(PowerWasCut):
                reader.execute("SELECT sum(length(body)) FROM pair")
            with pytest.raises(PowerWasCut):
                apsw.Connection(str(path), vfs=power.vfs_name)
        power.freeze_to(tmp_path / "left")
    assert stored_in(tmp_path / "left" / "a.db") == list(range(TRANSACTIONS))


def test_an_exclusive_connection_needs_no_shared_memory(tmp_path: Path) -> None:
    with PowerCut() as power:
        with connected(tmp_path / "a.db", power, *WAL, locking="exclusive") as connection:
            work(connection, [])
            assert not (tmp_path / "a.db-shm").exists()
            power.cut()
        power.freeze_to(tmp_path / "left")
    assert stored_in(tmp_path / "left" / "a.db") == list(range(TRANSACTIONS))


def test_a_disk_shut_down_in_order_keeps_everything_and_starts_again(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    for start in (0, TRANSACTIONS):
        with PowerCut() as power, connected(tmp_path / "a.db", power, "wal", "off") as connection:
            work(connection, acknowledged, range(start, start + TRANSACTIONS))
    assert stored_in(tmp_path / "a.db") == acknowledged == list(range(2 * TRANSACTIONS))


def test_a_cut_before_the_first_flush_leaves_an_empty_folder(tmp_path: Path) -> None:
    with PowerCut(cut_at=1) as power, suppress(PowerWasCut), connected(tmp_path / "a.db", power, *WAL):
        pass
    assert power.flushes == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_shrinks_shrinks_in_the_real_folder_once_flushed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with PowerCut() as power, connected(path, power, "delete", "extra") as connection:
        work(connection, [])
        full_size = path.stat().st_size
        connection.execute("DELETE FROM pair WHERE number > 0")
        connection.execute("VACUUM")
        assert path.stat().st_size == full_size  # SQLite shortens the file after its last flush
        work(connection, [], range(1, 2))
        assert path.stat().st_size < full_size
    assert stored_in(path) == [0, 1]


def test_the_image_is_refused_while_the_power_is_on(tmp_path: Path) -> None:
    with PowerCut() as power, pytest.raises(RuntimeError, match="still on"):
        power.freeze_to(tmp_path)


@pytest.mark.parametrize("mode", [WAL, ("delete", "extra")], ids="-".join)
def test_a_full_disk_refuses_the_transaction_and_keeps_the_earlier_ones(tmp_path: Path, mode: tuple[str, str]) -> None:
    with PowerCut() as power:
        acknowledged: list[int] = []
        with connected(tmp_path / "a.db", power, *mode) as connection:
            work(connection, acknowledged, range(2))
            power.disk_full_after(20_000)
            with pytest.raises(apsw.FullError):
                work(connection, acknowledged, range(2, 100))
            power.disk_full_after(None)
        # An error out of COMMIT leaves doubt, so look before going on.
        with connected(tmp_path / "a.db", power, *mode) as connection:
            work(connection, acknowledged, range(count_in(connection), TRANSACTIONS))
            power.cut()
        power.freeze_to(tmp_path / "left")
    assert set(acknowledged) <= set(stored_in(tmp_path / "left" / "a.db"))
    assert stored_in(tmp_path / "left" / "a.db") == list(range(TRANSACTIONS))


@pytest.mark.parametrize("survive", ["none", "random"])
def test_a_flush_that_fails_loses_nothing_acknowledged(tmp_path: Path, survive: Survive) -> None:
    failed = 0
    for number in count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        acknowledged: list[int] = []
        with PowerCut(survive=survive, seed=number) as power:
            power.flush_fails_at(number)
            for _ in range(2):  # a connection whose flush failed is given up
                try:
                    with connected(folder / "a.db", power, *WAL) as connection:
                        work(connection, acknowledged, range(count_in(connection), TRANSACTIONS))
                except apsw.IOError:
                    failed += 1
            power.cut()
            power.freeze_to(folder / "left")
            reached = power.flushes >= number
        assert stored_in(folder / "left" / "a.db") == list(range(TRANSACTIONS))
        if not reached:
            break
    assert failed > TRANSACTIONS


CHILD = """
import sys
from pathlib import Path
import apsw
from counterfoil.testing.powercut import PowerCut
cut_at, synchronous = int(sys.argv[2]), sys.argv[3]
power = PowerCut(cut_at=cut_at or None, kill=True, default=True)
connection = apsw.Connection(sys.argv[1])
connection.pragma("synchronous", synchronous)
connection.pragma("journal_mode", "wal")
connection.pragma("wal_autocheckpoint", 8)
connection.execute("CREATE TABLE pair (number INTEGER, half INTEGER, body BLOB)")
for number in range(3):
    with connection:
        for half in (1, 2):
            connection.execute("INSERT INTO pair VALUES (?, ?, ?)", (number, half, bytes([number]) * 6000))
    print(number, flush=True)
print("done", flush=True)
sys.stdin.read()
"""


def child(path: Path, cut_at: int, synchronous: str) -> tuple[list[int], bool]:
    """Run the child until it dies at the cut, or kill it when it is done. What it acknowledged, and if it was done."""
    path.parent.mkdir()
    command = [sys.executable, "-c", CHILD, str(path), str(cut_at), synchronous]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.strip())
            if line == "done\n":
                process.kill()
        assert process.wait() == -signal.SIGKILL
    return [int(line) for line in lines if line != "done"], "done" in lines


def test_a_child_that_dies_at_the_cut_leaves_the_image_in_its_own_folder(tmp_path: Path) -> None:
    for number in count(1):
        path = tmp_path / str(number) / "a.db"
        acknowledged, done = child(path, number, "full")
        assert stored_in(path) in (acknowledged, [*acknowledged, len(acknowledged)])
        if done:
            break
    assert number > 4


def test_a_child_killed_from_outside_leaves_no_more_than_it_flushed(tmp_path: Path) -> None:
    assert child(tmp_path / "off" / "a.db", 0, "off") == ([0, 1, 2], True)
    assert stored_in(tmp_path / "off" / "a.db") == []
