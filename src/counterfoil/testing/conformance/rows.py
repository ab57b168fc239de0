"""Rows come back as they were put."""

from dataclasses import fields, replace
from typing import Any

from counterfoil.model.duty import DutyRecord
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.journal import GENESIS, EntryKind
from counterfoil.model.people import PersonRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read
from counterfoil.store.tables import ALL, BY_RECORD
from counterfoil.store.verify import verify
from counterfoil.testing.conformance.bench import Act, Bench, done, installation_of, putting, raises, step
from counterfoil.testing.conformance.samples import INSTALLATION, one_of_each, run_named


def every_record_comes_back_equal(bench: Bench) -> None:
    """A row of every table is read back equal, enums as enums."""
    database = bench.with_runs("run_a")
    rows = one_of_each("run_a")
    assert {type(row) for row in rows} == {table.record for table in ALL} - {InstallationRecord, RunRecord}
    done(database, putting(*rows))
    with database.reader() as reader:
        for row in rows:
            record = BY_RECORD[type(row)].record
            found: Any = reader.get(record, *BY_RECORD[type(row)].key_of(row))
            assert found == row, f"{found} is not {row}"
            for field in fields(row):
                assert type(getattr(found, field.name)) is type(getattr(row, field.name)), field.name


def a_run_comes_back_equal(bench: Bench) -> None:
    """A run is read back with the values it was put with and the chain it got."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        found = reader.get(RunRecord, "run_a")
        (entry,) = reader.entries("run_a")
    assert found == replace(run_named("run_a", 1), sequence=0, head=entry.digest, updated_at=bench.clock.at)
    assert found is not None
    assert found.state is RunState.RUNNING


def every_column_can_change(bench: Bench) -> None:
    """A second put of a row changes it, and leaves one row."""
    database = bench.with_runs("run_a")
    done(database, putting(PersonRecord("ana", "[]", "one", None, 1, None)))
    changed = PersonRecord("ana", '["approver"]', "two", "oscar", 2, 3)

    def body(tx: Any) -> None:
        tx.put(changed)
        tx.append(INSTALLATION.installation_id, EntryKind.PERSON)

    done(database, Act((Read.key(PersonRecord, "ana"),), body))
    with database.reader() as reader:
        assert list(reader.rows(PersonRecord)) == [changed]


def long_and_odd_texts(bench: Bench) -> None:
    """Text of any length and script is kept as it is, the zero character included."""
    database = bench.installed()
    text = "a\x00b\x1f\u2028'\"\\ 漢字 👍 " * 20_000
    done(database, putting(PersonRecord("ana", text, text, None, 1, None)))
    with database.reader() as reader:
        found = reader.get(PersonRecord, "ana")
    assert found is not None
    assert found.roles == text


def the_chain_of_a_run_is_not_the_verbs(bench: Bench) -> None:
    """What a verb puts into sequence, head and updated_at of a run does not count."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        before = reader.get(RunRecord, "run_a")
    assert before is not None

    def body(tx: Any) -> None:
        tx.put(replace(tx.must(RunRecord, "run_a"), sequence=99, head=GENESIS, owner="oscar"))
        tx.append("run_a", EntryKind.RULED)

    done(database, Act((Read.key(RunRecord, "run_a"),), body))
    with database.reader() as reader:
        after = reader.get(RunRecord, "run_a")
        entries = reader.entries("run_a")
    assert after is not None
    assert (after.sequence, after.head, after.owner) == (1, entries[-1].digest, "oscar")


def the_chain_is_not_moved_without_an_entry(bench: Bench) -> None:
    """A run put with a sequence and a head of its own, and no entry, keeps its chain; a new one begins at zero."""
    database = bench.with_runs("run_a")
    with database.reader() as reader:
        before = reader.get(RunRecord, "run_a")
    assert before is not None

    def lie(tx: Any) -> None:
        tx.put(replace(before, sequence=99, head=GENESIS, fence=2))

    verb = Act((Read.key(RunRecord, "run_a"),), lie)
    done(database, verb, putting(replace(run_named("run_b", 2), sequence=7, head=b"7" * 32)), step("run_b", "0.1"))
    with database.reader() as reader:
        assert reader.get(RunRecord, "run_a") == replace(before, fence=2)
        assert [entry.sequence for entry in reader.entries("run_b")] == [0]
        assert verify(reader).sound


def a_lease_needs_no_entry(bench: Bench) -> None:
    """What only a lease moves is no evidence: it changes without an entry."""
    database = bench.with_runs("run_a")

    def body(tx: Any) -> None:
        run = tx.must(RunRecord, "run_a")
        tx.put(replace(run, fence=2, worker_id="wrk_2", lease_until=77, executing=0, due_at=76))

    done(database, Act((Read.key(RunRecord, "run_a"),), body))
    with database.reader() as reader:
        run = reader.get(RunRecord, "run_a")
        assert run is not None
        assert (run.fence, run.worker_id, run.lease_until, run.executing, run.due_at) == (2, "wrk_2", 77, 0, 76)
        assert len(reader.entries("run_a")) == 1


def the_installation_changes_by_a_verb(bench: Bench) -> None:
    """A verb may put a changed installation; its counts of commits stay the database's."""
    database = bench.installed()
    before = installation_of(database)

    def body(tx: Any) -> None:
        tx.put(replace(tx.installation, incarnation=2, batches=0, rolling=GENESIS))
        tx.append(INSTALLATION.installation_id, EntryKind.RESTORE)

    done(database, Act((), body))
    after = installation_of(database)
    assert after.incarnation == 2
    assert after.batches == before.batches + 1
    assert after.rolling not in (before.rolling, GENESIS)


def what_is_no_evidence_can_be_dropped(bench: Bench) -> None:
    """A row that is no evidence is deleted, needs no entry for it, and may be put anew, also in the same batch."""
    database = bench.installed()
    duty = DutyRecord("expiry", "wrk_1", 1, 2, 3, None, 4, 0)
    key = Read.key(DutyRecord, "expiry")
    done(database, Act((key,), lambda tx: tx.put(duty)))
    done(database, Act((key,), lambda tx: tx.drop(DutyRecord, "expiry")))
    with database.reader() as reader:
        assert reader.get(DutyRecord, "expiry") is None
    done(database, Act((key,), lambda tx: tx.put(duty)))
    again = replace(duty, holder="wrk_2")
    done(database, Act((key,), lambda tx: tx.drop(DutyRecord, "expiry")), Act((key,), lambda tx: tx.put(again)))
    with database.reader() as reader:
        assert reader.get(DutyRecord, "expiry") == again
    with raises(AssertionError, "evidence"):
        done(database, Act((), lambda tx: tx.drop(PersonRecord, "ana")))
