"""Several handles on one database, as several processes have them."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

from counterfoil.model.run import RunRecord
from counterfoil.store.port import StorageError
from counterfoil.testing.conformance.bench import Bench, done, raises, step


def handles_see_each_other(bench: Bench) -> None:
    """What one handle committed the other reads and continues."""
    database = bench.with_runs("run_a")
    other = bench.open()
    (entry,) = done(other, step("run_a", "0.1"))
    assert entry.sequence == 1
    (entry,) = done(database, step("run_a", "0.2"))
    assert entry.sequence == 2


def a_commit_elsewhere_is_noticed(bench: Bench) -> None:
    """data_version changes with another handle's commit, and not with one's own or without any."""
    database = bench.with_runs("run_a")
    other = bench.open()
    before = database.data_version()
    assert database.data_version() == before
    done(database, step("run_a", "0.1"))
    assert database.data_version() == before
    done(other, step("run_a", "0.2"))
    assert database.data_version() != before


def writers_take_turns(bench: Bench) -> None:
    """Two handles that write at once lose nothing: each batch continues the chain where the other left it."""
    bench.with_runs("run_a", "run_b")
    handles = [bench.open(), bench.open()]
    barrier = Barrier(2)

    def write(number: int) -> None:
        barrier.wait()
        for position in range(20):
            done(handles[number], step("run_a", f"{number}.{position}"), step("run_b", f"{number}.{position}"))

    with ThreadPoolExecutor(2) as threads:
        for written in [threads.submit(write, number) for number in range(2)]:
            written.result()
    with handles[0].reader() as reader:
        for run_id in ("run_a", "run_b"):
            entries = reader.entries(run_id)
            assert [entry.sequence for entry in entries] == list(range(41))
            assert len({entry.position for entry in entries}) == 41


def readers_while_somebody_writes(bench: Bench) -> None:
    """A snapshot taken in another thread is always whole: row and chain agree."""
    database = bench.with_runs("run_a")

    def read() -> int:
        with database.reader() as reader:
            run = reader.get(RunRecord, "run_a")
            assert run is not None
            entries = reader.entries("run_a")
        assert (entries[-1].sequence, entries[-1].digest) == (run.sequence, run.head)
        return run.sequence

    with ThreadPoolExecutor(1) as threads:
        reads: list[Future[int]] = []
        for position in range(30):
            reads.append(threads.submit(read))
            done(database, step("run_a", f"0.{position}"))
        seen = [read.result() for read in reads]
        assert sorted(seen) == seen


def what_is_closed_says_so(bench: Bench) -> None:
    """Closing twice does nothing; afterwards everything is refused."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        assert reader.get(RunRecord, "run_a") is not None
    database.close()
    database.close()
    with raises(StorageError, "storage_failed"):
        database.apply([step("run_a", "0.1")])
    with raises(StorageError, "storage_failed"), database.reader():
        pass
    with raises(StorageError, "storage_failed"):
        database.data_version()


def what_was_committed_is_there_again(bench: Bench) -> None:
    """A database that was closed is opened with everything in it."""
    database = bench.with_runs("run_a")
    done(database, step("run_a", "0.1"))
    database.close()
    again = bench.open()
    with again.reader() as reader:
        assert len(reader.entries("run_a")) == 2
    done(again, step("run_a", "0.2"))
