"""What is refused leaves nothing, and spoils nothing else."""

from collections.abc import Callable
from typing import Any

from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Hooks, Read, StorageError
from counterfoil.store.transaction import Transaction
from counterfoil.testing.conformance.bench import (
    Act,
    Bench,
    code_of,
    done,
    installation_of,
    one,
    putting,
    raises,
    step,
)
from counterfoil.testing.conformance.samples import INSTALLATION, operation_of, run_named


def a_refusal_drops_only_its_own_rows(bench: Bench) -> None:
    """Rows, entries and numbers of a refused verb are gone; the verbs around it stand."""
    database = bench.with_runs("run_a")

    def refused(tx: Any) -> None:
        tx.number("operation")
        tx.put(operation_of("run_a", "op_1", 1))
        tx.append("run_a", EntryKind.PREPARED)
        raise Refused("run_ended", run_id="run_a", state="completed")

    bad = Act((Read.key(RunRecord, "run_a"), Read.key(OperationRecord, "op_1")), refused)
    outcomes = database.apply([step("run_a", "0.1"), bad, step("run_a", "0.2")])
    assert list(map(code_of, outcomes)) == [None, "run_ended", None]
    with database.reader() as reader:
        assert reader.get(OperationRecord, "op_1") is None
        assert [entry.position for entry in reader.entries("run_a")] == [None, "0.1", "0.2"]
    assert done(database, Act((), lambda tx: tx.number("operation"))) == [1]


def later_verbs_do_not_see_refused_rows(bench: Bench) -> None:
    """What a refused verb put is not there for the next one."""
    database = bench.with_runs("run_a")

    def refused(tx: Any) -> None:
        tx.put(operation_of("run_a", "op_1", 1))
        tx.append("run_a", EntryKind.PREPARED)
        raise Refused("not_found", what="charge", id="4711")

    def look(tx: Any) -> list[Any]:
        return [tx.get(OperationRecord, "op_1"), *tx.find(OperationRecord, "run_id", "run_a")]

    reads = (
        Read.key(RunRecord, "run_a"),
        Read.key(OperationRecord, "op_1"),
        Read.by(OperationRecord, "run_id", "run_a"),
    )
    outcomes = database.apply([Act(reads, refused), Act(reads, look)])
    assert outcomes[1].value == [None]


def only_refused_is_no_commit(bench: Bench) -> None:
    """A batch in which every verb is refused hits no boundary."""
    hits: list[list[str]] = []
    database = bench.installed(Hooks(before_commit=hits.append))
    hits.clear()
    refused = one(database, Act((Read.key(RunRecord, "run_x"),), lambda tx: tx.must(RunRecord, "run_x"))).error
    assert refused is not None
    assert (refused.code, refused.details) == ("not_found", {"what": "run", "id": "run_x"})
    assert hits == []


def what_is_no_json_is_refused(bench: Bench) -> None:
    """Data that is no JSON refuses its verb and nobody else's."""
    database = bench.with_runs("run_a")
    reads = (Read.key(RunRecord, "run_a"),)

    def bad(data: Any) -> Act:
        return Act(reads, lambda tx: tx.append("run_a", EntryKind.STEP, name="work", data=data))

    for data in (object(), float("nan"), {1, 2}):
        outcomes = database.apply([bad(data), step("run_a", "0.1")])
        assert list(map(code_of, outcomes)) == ["unserializable", None]


def a_defect_applies_nothing(bench: Bench) -> None:
    """An error that is no refusal rolls the whole batch back and is raised; the database goes on."""
    database = bench.with_runs("run_a")
    before = installation_of(database)

    def defect(tx: Any) -> None:
        raise ZeroDivisionError("a defect")

    with raises(ZeroDivisionError):
        database.apply([step("run_a", "0.1"), Act((), defect)])
    assert installation_of(database) == before
    done(database, step("run_a", "0.2"))
    with database.reader() as reader:
        assert [entry.position for entry in reader.entries("run_a")] == [None, "0.2"]


def what_was_not_named_cannot_be_seen(bench: Bench) -> None:
    """A row that reads() did not name is a defect, even when another verb of the batch named it."""
    database = bench.with_runs("run_a", "run_b")
    naming = Act((Read.key(RunRecord, "run_a"), Read.by(OperationRecord, "run_id", "run_a")), lambda tx: None)
    looks: list[Callable[[Transaction], Any]] = [
        lambda tx: tx.get(RunRecord, "run_a"),
        lambda tx: tx.find(OperationRecord, "run_id", "run_a"),
        lambda tx: tx.all(PersonRecord),
        lambda tx: tx.append("run_a", EntryKind.STEP),
        lambda tx: tx.put(run_named("run_a", 9)),
    ]
    for look in looks:
        with raises(AssertionError, "reads()"):
            database.apply([naming, Act((), look)])


def evidence_needs_an_entry(bench: Bench) -> None:
    """A verb that changes evidence and appends nothing is a defect."""
    database = bench.with_runs("run_a")
    with raises(AssertionError, "without an entry"):
        database.apply([Act((), lambda tx: tx.put(PersonRecord("ana", "[]", "hash", None, 1, None)))])
    with database.reader() as reader:
        assert reader.get(PersonRecord, "ana") is None


def a_new_row_never_replaces_one(bench: Bench) -> None:
    """Putting a row as new, without having looked, over one that is there applies nothing."""
    database = bench.with_runs("run_a")
    done(database, putting(operation_of("run_a", "op_1", 1)))
    with raises(StorageError, "storage_failed"):
        database.apply([step("run_a", "0.1"), putting(operation_of("run_a", "op_1", 2))])
    with database.reader() as reader:
        assert len(reader.entries("run_a")) == 1
    done(database, step("run_a", "0.1"))


def a_state_that_does_not_exist_is_refused(bench: Bench) -> None:
    """The tables themselves hold only the states there are, and no parked run without owner and reason."""
    database = bench.with_runs("run_a")
    for column, value in (("state", "asleep"), ("state", "parked")):
        run = run_named("run_b", 7)
        object.__setattr__(run, column, value)
        with raises(StorageError, "storage_failed"):
            database.apply([putting(run)])
    with database.reader() as reader:
        assert reader.get(RunRecord, "run_b") is None


def a_hook_that_fails_before_the_commit(bench: Bench) -> None:
    """Whatever the hook before the commit raises rolls the batch back."""
    first = bench.with_runs("run_a")
    first.close()

    def fails(boundaries: list[str]) -> None:
        raise KeyboardInterrupt

    database = bench.open(Hooks(before_commit=fails))
    with raises(KeyboardInterrupt):
        database.apply([step("run_a", "0.1")])
    with database.reader() as reader:
        assert len(reader.entries("run_a")) == 1
        assert reader.entries(INSTALLATION.installation_id)
