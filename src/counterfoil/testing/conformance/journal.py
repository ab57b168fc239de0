"""The journal: hash chains over the bytes stored, and every change of evidence in it."""

import json
from dataclasses import replace
from typing import Any

from counterfoil.model.journal import GENESIS, EntryKind, chained
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read
from counterfoil.store.verify import verify
from counterfoil.testing.conformance.bench import Act, Bench, done, putting, step
from counterfoil.testing.conformance.samples import INSTALLATION, one_of_each, operation_of, run_named


def entries_are_chained(bench: Bench) -> None:
    """Each digest is over the one before it and the stored fields, from zeros on."""
    database = bench.with_runs("run_a")
    for number in range(5):
        bench.clock.at += 1
        done(database, step("run_a", f"0.{number}"))
    head = GENESIS
    with database.reader() as reader:
        for number, entry in enumerate(reader.entries("run_a")):
            assert entry.sequence == number
            head = chained(head, "run_a", number, entry.kind, entry.position, entry.name, entry.body, entry.at)
            assert entry.digest == head
        run = reader.get(RunRecord, "run_a")
    assert run is not None
    assert (run.sequence, run.head, run.updated_at) == (5, head, bench.clock.at)


def an_entry_that_is_given_back_is_finished(bench: Bench) -> None:
    """The entry that a verb returns is the one that was stored."""
    database = bench.with_runs("run_a")
    (given,) = done(database, step("run_a", "0.1"))
    with database.reader() as reader:
        assert given == reader.entries("run_a")[-1]
    assert json.loads(given.body) == {"data": {"result": "0.1"}}


def changes_stand_in_the_last_entry(bench: Bench) -> None:
    """A new row names all its columns, a changed one those that changed; both in the verb's last entry."""
    database = bench.with_runs("run_a")
    operation = operation_of("run_a", "op_1", 1)

    def body(tx: Any) -> None:
        tx.append("run_a", EntryKind.PROPOSAL, data=1)
        tx.put(operation)
        tx.put(replace(tx.must(RunRecord, "run_a"), state=RunState.WAITING, due_at=5))
        tx.append("run_a", EntryKind.PREPARED, data=2)

    done(database, Act((Read.key(RunRecord, "run_a"), Read.key(OperationRecord, "op_1")), body))
    with database.reader() as reader:
        first, last = (json.loads(entry.body) for entry in reader.entries("run_a", after=0))
    assert first == {"data": 1}
    assert last["rows"]["runs"] == {"run_a": {"state": "waiting"}}
    row = last["rows"]["operations"]["op_1"]
    assert row["status"] == "prepared"
    assert "closed_at" not in row

    def change(tx: Any) -> None:
        tx.put(replace(tx.must(OperationRecord, "op_1"), status=OperationStatus.IN_FLIGHT, next_at=None))
        tx.append("run_a", EntryKind.IN_FLIGHT)

    done(database, Act((Read.key(RunRecord, "run_a"), Read.key(OperationRecord, "op_1")), change))
    with database.reader() as reader:
        content = json.loads(reader.entries("run_a")[-1].body)
    assert content["rows"] == {"operations": {"op_1": {"status": "in_flight", "next_at": None}}}


def the_installation_has_a_chain(bench: Bench) -> None:
    """Facts that belong to no run are chained under the installation's id."""
    database = bench.installed()
    done(database, putting(PersonRecord("ana", "[]", "hash", None, 1, None)))
    with database.reader() as reader:
        entries = reader.entries(INSTALLATION.installation_id)
        ends = {run_id: (sequence, head) for run_id, sequence, head in reader.chains()}
    assert [entry.sequence for entry in entries] == [0, 1]
    assert ends == {INSTALLATION.installation_id: (1, entries[-1].digest)}


def the_journal_is_in_order(bench: Bench) -> None:
    """All chains together are numbered without gaps, in the order in which verbs were applied."""
    database = bench.with_runs("run_a", "run_b")
    done(database, step("run_b", "0.1"), step("run_a", "0.1"))
    with database.reader() as reader:
        journal = [(ordinal, entry.run_id) for ordinal, entry in reader.journal()]
    assert [ordinal for ordinal, _ in journal] == [1, 2, 3, 4, 5]
    assert [run_id for _, run_id in journal[1:]] == ["run_a", "run_b", "run_b", "run_a"]


def entries_after_a_sequence(bench: Bench) -> None:
    """A chain is read from anywhere, and as much of it as is wanted."""
    database = bench.with_runs("run_a")
    done(database, *(step("run_a", f"0.{number}") for number in range(5)))
    with database.reader() as reader:
        assert [entry.sequence for entry in reader.entries("run_a", after=2)] == [3, 4, 5]
        assert [entry.sequence for entry in reader.entries("run_a", after=0, limit=2)] == [1, 2]
        assert reader.entries("run_a", after=5) == []
        assert reader.entries("run_x") == []


def the_journal_rebuilds_the_tables(bench: Bench) -> None:
    """Verify finds nothing in what verbs wrote, over every table and over changes of rows."""
    database = bench.with_runs("run_a", "run_b")
    done(database, putting(*one_of_each("run_a")), step("run_b", "0.1"))

    def change(tx: Any) -> None:
        tx.put(
            replace(tx.must(OperationRecord, "op_each"), status=OperationStatus.SUCCEEDED, next_at=None, closed_at=3)
        )
        tx.put(replace(tx.must(RunRecord, "run_a"), state=RunState.COMPLETED, result="{}", fence=7, due_at=3))
        tx.append("run_a", EntryKind.FINISHED)

    done(database, Act((Read.key(RunRecord, "run_a"), Read.key(OperationRecord, "op_each")), change))
    with database.reader() as reader:
        report = verify(reader)
        alone = verify(reader, run_id="run_a")
    assert report.sound, report
    assert (report.chains, report.entries, report.rows_compared) == (3, 6, 33)
    assert (alone.chains, alone.entries) == (1, 2)


def a_run_with_bytes_is_rebuilt(bench: Bench) -> None:
    """A run that comes and changes in one batch is rebuilt too."""
    database = bench.installed()

    def again(tx: Any) -> None:
        tx.put(replace(tx.must(RunRecord, "run_a"), failed_tries=1))
        tx.append("run_a", EntryKind.TRY_FAILED)

    done(database, putting(run_named("run_a", 1)), Act((Read.key(RunRecord, "run_a"),), again))
    with database.reader() as reader:
        run = reader.get(RunRecord, "run_a")
        assert run is not None
        assert (run.sequence, run.failed_tries) == (0, 1)
        assert verify(reader).sound
