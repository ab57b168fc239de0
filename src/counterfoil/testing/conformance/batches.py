"""A batch is one commit: all verbs in it, each seeing those before it."""

from dataclasses import replace
from typing import Any

from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Hooks, Read
from counterfoil.testing.conformance.bench import Act, Bench, done, installation_of, putting, step, submit
from counterfoil.testing.conformance.samples import operation_of


def later_verbs_see_earlier_rows(bench: Bench) -> None:
    """A verb gets and finds the rows that verbs before it in the batch have put."""
    database = bench.with_runs("run_a")
    operations = [operation_of("run_a", f"op_{n}", n) for n in (2, 1)]
    seen: list[OperationRecord] = []

    def look(tx: Any) -> None:
        assert tx.get(OperationRecord, "op_1") == operations[1]
        seen.extend(tx.find(OperationRecord, "run_id", "run_a"))

    reads = (Read.key(OperationRecord, "op_1"), Read.by(OperationRecord, "run_id", "run_a"))
    done(database, putting(operations[0]), putting(operations[1]), Act(reads, look))
    assert seen == [operations[1], operations[0]]


def finding_follows_changes(bench: Bench) -> None:
    """A row that an earlier verb moved to another value is found there, and no longer here."""
    database = bench.with_runs("run_a", "run_b")
    operation = operation_of("run_a", "op_1", 1)
    done(database, putting(operation))

    def move(tx: Any) -> None:
        tx.put(replace(tx.must(OperationRecord, "op_1"), business_key="other", version=2))
        tx.append("run_a", EntryKind.RULED)

    def look(tx: Any) -> tuple[int, int]:
        old = tx.find(OperationRecord, "business_key", operation.business_key)
        return len(old), len(tx.find(OperationRecord, "business_key", "other"))

    asked = Read.by(OperationRecord, "business_key", str(operation.business_key), "other")
    moving = Act((Read.key(OperationRecord, "op_1"), Read.key(RunRecord, "run_a")), move)
    assert done(database, Act((asked,), look), moving, Act((asked,), look)) == [(1, 0), None, (0, 1)]


def a_verb_sees_its_own_rows(bench: Bench) -> None:
    """Get and find give back what the same verb has put."""
    database = bench.with_runs("run_a")
    operation = operation_of("run_a", "op_1", 1)

    def body(tx: Any) -> list[OperationRecord]:
        tx.put(operation)
        tx.append("run_a", EntryKind.PREPARED)
        tx.put(replace(operation, status=OperationStatus.IN_FLIGHT))
        assert tx.must(OperationRecord, "op_1").status is OperationStatus.IN_FLIGHT
        return tx.find(OperationRecord, "run_id", "run_a")

    reads = (Read.key(RunRecord, "run_a"), Read.by(OperationRecord, "run_id", "run_a"))
    (found,) = done(database, Act(reads, body))
    assert [operation.status for operation in found] == [OperationStatus.IN_FLIGHT]


def two_verbs_of_one_run(bench: Bench) -> None:
    """Two verbs of one run in one batch continue its chain, and the second sees where the first left it."""
    database = bench.with_runs("run_a")
    seen: list[int] = []

    def body(tx: Any) -> None:
        seen.append(tx.must(RunRecord, "run_a").sequence)
        tx.append("run_a", EntryKind.STEP)

    verb = Act((Read.key(RunRecord, "run_a"),), body)
    done(database, verb, verb)
    assert seen == [0, 1]
    with database.reader() as reader:
        assert [entry.sequence for entry in reader.entries("run_a")] == [0, 1, 2]


def many_runs_in_one_commit(bench: Bench) -> None:
    """A batch of 300 runs is one commit and loses nothing."""
    database = bench.installed()
    names = [f"run_{n:03}" for n in range(300)]
    done(database, *map(submit, names))
    before = installation_of(database).batches
    done(database, *(step(name, "0.1") for name in names))
    assert installation_of(database).batches == before + 1
    with database.reader() as reader:
        assert all(len(reader.entries(name)) == 2 for name in names)
        assert [run.number for run in reader.rows(RunRecord)] == list(range(1, 301))


def nothing_written_is_no_commit(bench: Bench) -> None:
    """Without a write there is no commit and no boundary; a row put as it is, is no write."""
    hits: list[list[str]] = []
    database = bench.installed(Hooks(before_commit=hits.append, after_commit=hits.append))
    person = PersonRecord("ana", "[]", "hash", None, 1, None)
    done(database, putting(person))
    before = installation_of(database)
    hits.clear()
    reads = (Read.key(PersonRecord, "ana"),)
    done(database, Act(reads, lambda tx: tx.must(PersonRecord, "ana")), Act(reads, lambda tx: tx.put(person)))
    assert database.apply([]) == []
    assert hits == []
    assert installation_of(database) == before


def hooks_stand_around_the_commit(bench: Bench) -> None:
    """Both hooks get the boundaries of the verbs that wrote; before the commit nobody else sees the rows."""
    story: list[tuple[str, list[str], int]] = []

    def told(when: str) -> Any:
        def hook(boundaries: list[str]) -> None:
            with other.reader() as reader:
                story.append((when, boundaries, len(list(reader.rows(RunRecord)))))

        return hook

    first = bench.installed()
    other = bench.open()
    first.close()
    database = bench.open(Hooks(told("before"), told("after")))
    reading = Act((Read.key(RunRecord, "run_a"),), lambda tx: None, boundary="only looked")
    done(database, submit("run_a"), reading, step("run_a", "0.1"))
    assert story == [("before", ["submitted", "stepped"], 0), ("after", ["submitted", "stepped"], 1)]


def one_reading_of_the_clock(bench: Bench) -> None:
    """All verbs of a batch have the same time, and it is stored."""
    database = bench.installed()
    bench.clock.at += 5

    def body(tx: Any) -> int:
        bench.clock.at += 1
        return tx.now

    first, second = done(database, submit("run_a"), Act((), body)), done(database, Act((), body))
    assert first[1] == first[0].created_at - 8 + bench.clock.at - 2
    assert second == [bench.clock.at - 1]
    assert installation_of(database).clock_us == bench.clock.at - 2


def time_never_goes_back(bench: Bench) -> None:
    """A clock that was set back does not set back what is stored."""
    database = bench.with_runs("run_a")
    newest = bench.clock.at
    bench.clock.at -= 1_000_000
    (entry,) = done(database, step("run_a", "0.1"))
    assert entry.at == newest
    assert installation_of(database).clock_us == newest


def numbers_count_from_one(bench: Bench) -> None:
    """Each counter counts by itself, over verbs, batches and handles, without gaps."""
    database = bench.installed()

    def body(tx: Any) -> tuple[int, int]:
        return tx.number("run"), tx.number("review")

    assert done(database, Act((), body), Act((), body)) == [(1, 1), (2, 2)]
    assert done(bench.open(), Act((), lambda tx: tx.number("run"))) == [3]
