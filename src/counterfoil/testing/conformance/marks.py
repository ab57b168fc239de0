"""What the outside marker must hold."""

from counterfoil.model.errors import Refused
from counterfoil.model.journal import GENESIS
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Mark, Read
from counterfoil.testing.conformance.bench import Act, Bench, done, installation_of, raises, step
from counterfoil.testing.conformance.samples import INSTALLATION


def nothing_was_sent_yet(bench: Bench) -> None:
    """Before the first commit that sends, the mark is at zero."""
    database = bench.with_runs("run_a")
    assert database.marked() == Mark(INSTALLATION.installation_id, 1, 0, 0, GENESIS)


def a_sending_commit_moves_the_mark(bench: Bench) -> None:
    """A commit with a sending verb is the mark: its number and the rolling digest up to it. Steps leave it there."""
    database = bench.with_runs("run_a")
    done(database, step("run_a", "0.1"), step("run_a", "0.2", sends=True))
    at_sending = installation_of(database)
    mark = database.marked()
    assert mark == Mark(INSTALLATION.installation_id, 1, at_sending.batches, at_sending.batches, at_sending.rolling)
    assert at_sending.in_flight_batch == at_sending.batches
    done(database, step("run_a", "0.3"))
    assert database.marked() == mark
    later = installation_of(database)
    assert (later.in_flight_batch, later.batches) == (mark.in_flight_batch, mark.batches + 1)
    with database.reader() as reader:
        assert reader.rolling_at(mark.in_flight_batch) == mark.rolling
        assert reader.rolling_at(later.batches) is None


def a_refused_sender_does_not_move_it(bench: Bench) -> None:
    """A sending verb that was refused, or wrote nothing, leaves the mark where it is."""
    database = bench.with_runs("run_a")
    missing = Act((Read.key(RunRecord, "run_x"),), lambda tx: tx.must(RunRecord, "run_x"), sends=True)
    looking = Act((Read.key(RunRecord, "run_a"),), lambda tx: tx.must(RunRecord, "run_a"), sends=True)
    database.apply([missing, looking, step("run_a", "0.1")])
    assert database.marked().in_flight_batch == 0


def the_rolling_digest_tells_histories_apart(bench: Bench) -> None:
    """Each commit moves the rolling digest."""
    database = bench.with_runs("run_a")
    seen = {installation_of(database).rolling}
    for number in range(4):
        done(database, step("run_a", f"0.{number}"))
        seen.add(installation_of(database).rolling)
    assert len(seen) == 5


def another_handle_knows_the_mark(bench: Bench) -> None:
    """The mark is the database's, whoever committed."""
    database = bench.with_runs("run_a")
    other = bench.open()
    done(database, step("run_a", "0.1", sends=True))
    assert other.marked() == database.marked()


def no_installation_no_mark(bench: Bench) -> None:
    """Without an installation there is nothing to mark."""
    with raises(Refused, "not_found"):
        bench.open().marked()
