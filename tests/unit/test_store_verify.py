"""Every way of tampering is found and named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.model.journal import EntryKind, chained
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.marker import Head
from counterfoil.store.port import Read
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.store.verify import Broken, DifferentRow, VerifyReport, verify
from counterfoil.testing.conformance.bench import Act, SetClock, done, install, putting, step, submit
from counterfoil.testing.conformance.samples import INSTALLATION, one_of_each, operation_of

HERE = INSTALLATION.installation_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two runs with five entries each; run_a has an operation that succeeded and is completed."""
    path = tmp_path / "ledger.db"
    database = SqliteDatabase(path, SetClock(), create=True)
    done(database, Act((), install))
    done(database, submit("run_a"), submit("run_b"))
    done(database, putting(*one_of_each("run_b")))
    operation = operation_of("run_a", "op_1", 2)
    reads = (Read.key(RunRecord, "run_a"), Read.key(OperationRecord, "op_1"))

    def prepare(tx: Any) -> None:
        tx.put(operation)
        tx.append("run_a", EntryKind.PREPARED)

    def finish(tx: Any) -> None:
        tx.put(replace(tx.must(OperationRecord, "op_1"), status=OperationStatus.SUCCEEDED))
        tx.put(replace(tx.must(RunRecord, "run_a"), state=RunState.COMPLETED, result='{"amount":1}'))
        tx.append("run_a", EntryKind.FINISHED)

    done(database, Act(reads, prepare), step("run_b", "0.1"))
    done(database, step("run_a", "0.2"), step("run_b", "0.2"))
    done(database, step("run_a", "0.3"), step("run_b", "0.3"))
    done(database, Act(reads, finish), step("run_b", "0.4"))
    database.close()
    return path


def heads_of(path: Path) -> list[Head]:
    database = SqliteDatabase(path, SetClock())
    with database.reader() as reader:
        heads = [Head(*chain) for chain in reader.chains()]
    database.close()
    return heads


def tampered(path: Path, *statements: str, heads: list[Head] | None = None, run_id: str | None = None) -> VerifyReport:
    writer = apsw.Connection(str(path))
    for statement in statements:
        writer.execute(statement)
    writer.close()
    database = SqliteDatabase(path, SetClock())
    with database.reader() as reader:
        report = verify(reader, heads or [], run_id=run_id)
    database.close()
    return report


def test_untouched_it_is_sound(path: Path) -> None:
    report = tampered(path)
    assert report == VerifyReport(3, 12, "missing", (), 34, ())
    assert tampered(path, heads=heads_of(path)).heads_outside == "matched"


@pytest.mark.parametrize(
    "change",
    [
        "body = replace(body, '0.2', '9.9')",
        "position = '0.9'",
        "position = NULL",
        "name = 'other'",
        "kind = 'decision'",
        "kind = 'never heard of'",
        "at = at + 1",
        "digest = zeroblob(32)",
        "body = 'no json'",
        "body = '[]'",
    ],
)
def test_a_changed_entry(path: Path, change: str) -> None:
    report = tampered(path, f"UPDATE entries SET {change} WHERE run_id = 'run_a' AND sequence = 2")
    assert Broken("run_a", 2, "rewritten") in report.broken
    assert {problem.run_id for problem in report.broken} == {"run_a"}


def test_an_entry_changed_with_its_digest_breaks_at_the_next(path: Path) -> None:
    writer = apsw.Connection(str(path))
    ((before,), (kind, position, name, at)) = (
        next(iter(writer.execute(f"SELECT {columns} FROM entries WHERE run_id = 'run_a' AND sequence = {sequence}")))
        for columns, sequence in (("digest", 1), ("kind, position, name, at", 2))
    )
    digest = chained(before, "run_a", 2, kind, position, name, '{"data":0}', at)
    writer.execute(
        "UPDATE entries SET body = '{\"data\":0}', digest = ? WHERE run_id = 'run_a' AND sequence = 2", (digest,)
    )
    writer.close()
    assert tampered(path).broken == (Broken("run_a", 3, "rewritten"),)


def test_a_removed_entry(path: Path) -> None:
    report = tampered(path, "DELETE FROM entries WHERE run_id = 'run_a' AND sequence = 2")
    assert report.broken == (Broken("run_a", 2, "removed"),)


def test_the_first_entry_removed(path: Path) -> None:
    report = tampered(path, "DELETE FROM entries WHERE run_id = 'run_b' AND sequence = 0")
    assert report.broken == (Broken("run_b", 0, "removed"),)


def test_two_entries_exchanged(path: Path) -> None:
    report = tampered(
        path,
        "UPDATE entries SET sequence = 99 WHERE run_id = 'run_a' AND sequence = 2",
        "UPDATE entries SET sequence = 2 WHERE run_id = 'run_a' AND sequence = 3",
        "UPDATE entries SET sequence = 3 WHERE run_id = 'run_a' AND sequence = 99",
    )
    assert report.broken == (Broken("run_a", 2, "reordered"),)


def test_two_entries_exchanged_in_the_order_of_all(path: Path) -> None:
    of_run = "SELECT ordinal FROM entries WHERE run_id = 'run_a' AND sequence ="
    report = tampered(
        path,
        f"UPDATE entries SET ordinal = 99 WHERE ordinal = ({of_run} 2)",
        f"UPDATE entries SET ordinal = (SELECT ordinal - 2 FROM entries WHERE run_id = 'run_a' AND sequence = 3) "
        f"WHERE ordinal = ({of_run} 3)",
        "UPDATE entries SET ordinal = (SELECT min(ordinal) + 2 FROM entries WHERE run_id = 'run_a' AND sequence = 3) "
        "WHERE ordinal = 99",
    )
    assert Broken("run_a", 2, "reordered") in report.broken


def test_an_entry_moved_to_another_run(path: Path) -> None:
    report = tampered(path, "UPDATE entries SET run_id = 'run_b', sequence = 6 WHERE run_id = 'run_a' AND sequence = 2")
    assert Broken("run_a", 2, "removed") in report.broken
    assert any(problem.run_id == "run_b" for problem in report.broken)


def test_a_cut_tail(path: Path) -> None:
    report = tampered(path, "DELETE FROM entries WHERE run_id = 'run_a' AND sequence >= 3")
    assert report.broken == (Broken("run_a", 3, "truncated"),)
    assert DifferentRow("runs", "run_a", "state") in report.differences


CUT_WITH_HEAD = (
    "DELETE FROM entries WHERE run_id = 'run_b' AND sequence >= 3",
    "UPDATE runs SET sequence = 2, head = (SELECT digest FROM entries WHERE run_id = 'run_b' AND sequence = 2) "
    "WHERE run_id = 'run_b'",
)


def test_a_tail_cut_with_the_head_is_found_by_the_heads_outside(path: Path) -> None:
    heads = heads_of(path)
    report = tampered(path, *CUT_WITH_HEAD, heads=heads)
    assert report.heads_outside == "differ"
    assert Broken("run_b", 3, "truncated") in report.broken
    assert not report.sound


def test_the_end_of_the_journal_cut_with_the_head_is_silent_without_the_heads_outside(path: Path) -> None:
    """What is not claimed: the last entry of all, removed with its head, leaves nothing to see in the database."""
    report = tampered(
        path,
        "DELETE FROM entries WHERE run_id = 'run_b' AND sequence = 4",
        "UPDATE runs SET sequence = 3, head = (SELECT digest FROM entries WHERE run_id = 'run_b' AND sequence = 3) "
        "WHERE run_id = 'run_b'",
    )
    assert report.heads_outside == "missing"
    assert report.broken == ()


def test_a_chain_written_anew_is_found_by_the_heads_outside(path: Path) -> None:
    heads = heads_of(path)
    rewrite_chain(path, "run_b", lambda sequence, body: body.replace("0.2", "9.9"))
    alone = tampered(path)
    assert alone.broken == ()
    report = tampered(path, heads=heads)
    assert (report.heads_outside, report.broken) == ("differ", (Broken("run_b", 4, "forged"),))


def rewrite_chain(path: Path, run_id: str, change: Callable[[int, str], str]) -> None:
    """What somebody does who knows how chains are made: every digest and the run's head fit again."""
    writer = apsw.Connection(str(path))
    head = bytes(32)
    rows = list(
        writer.execute(
            "SELECT sequence, kind, position, name, body, at FROM entries WHERE run_id = ? ORDER BY sequence", (run_id,)
        )
    )
    for sequence, kind, position, name, body, at in rows:
        body = change(sequence, body)
        head = chained(head, run_id, sequence, kind, position, name, body, at)
        writer.execute(
            "UPDATE entries SET body = ?, digest = ? WHERE run_id = ? AND sequence = ?", (body, head, run_id, sequence)
        )
    writer.execute("UPDATE runs SET head = ? WHERE run_id = ?", (head, run_id))
    writer.close()


def test_a_forged_entry_at_the_end(path: Path) -> None:
    report = tampered(
        path,
        "INSERT INTO entries (run_id, sequence, kind, body, at, digest) VALUES ('run_a', 5, 'step', '{}', 1, zeroblob(32))",
    )
    assert Broken("run_a", 5, "forged") in report.broken


def test_a_forged_run_of_entries_without_a_row(path: Path) -> None:
    report = tampered(
        path,
        "INSERT INTO entries (run_id, sequence, kind, body, at, digest) VALUES ('run_x', 0, 'step', '{}', 1, zeroblob(32))",
    )
    assert Broken("run_x", 0, "forged") in report.broken


def test_a_whole_run_removed_with_its_rows(path: Path) -> None:
    report = tampered(
        path,
        "DELETE FROM entries WHERE run_id = 'run_a'",
        "DELETE FROM operations WHERE run_id = 'run_a'",
        "DELETE FROM runs WHERE run_id = 'run_a'",
    )
    assert [problem.problem for problem in report.broken] == ["removed"]
    assert report.broken[0].run_id is None


def test_a_head_that_was_changed(path: Path) -> None:
    report = tampered(path, "UPDATE runs SET head = zeroblob(32) WHERE run_id = 'run_a'")
    assert report.broken == (Broken("run_a", 4, "rewritten"),)


def test_the_installations_chain_is_checked_too(path: Path) -> None:
    report = tampered(path, f"UPDATE entries SET at = 0 WHERE run_id = '{HERE}' AND sequence = 0")
    assert report.broken == (Broken(HERE, 0, "rewritten"),)


@pytest.mark.parametrize(
    ("table", "key", "column", "statement"),
    [
        ("operations", "op_1", "status", "UPDATE operations SET status = 'failed' WHERE operation_id = 'op_1'"),
        ("operations", "op_1", "payload", "UPDATE operations SET payload = '{}' WHERE operation_id = 'op_1'"),
        ("operations", "op_1", "closed_at", "UPDATE operations SET closed_at = 1 WHERE operation_id = 'op_1'"),
        ("operations", "op_1", "next_at", "UPDATE operations SET next_at = NULL WHERE operation_id = 'op_1'"),
        ("runs", "run_a", "result", "UPDATE runs SET result = NULL WHERE run_id = 'run_a'"),
        ("people", "ana", "roles", "UPDATE people SET roles = '[]'"),
        ("reviews", "rev_1", "state", "UPDATE reviews SET state = 'approved'"),
        ("installation", HERE, "single_person", "UPDATE installation SET single_person = 1"),
        ("messages", "run_b\x1f0", "text", "UPDATE messages SET text = 'no'"),
        ("receipts", "rcp_1", "*", "DELETE FROM receipts"),
        ("answers", "ans_1", "*", "DELETE FROM answers"),
        ("people", "eve", "*", "INSERT INTO people VALUES ('eve', '[\"approver\"]', 'hash', NULL, 1, NULL)"),
    ],
)
def test_a_table_that_says_other_than_the_journal(
    path: Path, table: str, key: str, column: str, statement: str
) -> None:
    report = tampered(path, statement)
    assert report.broken == ()
    assert report.differences == (DifferentRow(table, key, column),)


def test_a_run_row_deleted_is_a_difference(path: Path) -> None:
    report = tampered(path, "DELETE FROM runs WHERE run_id = 'run_a'")
    assert report.broken == ()
    assert report.differences == (DifferentRow("runs", "run_a", "*"),)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET fence = 9, worker_id = NULL, lease_until = 1, executing = 0, due_at = 3, updated_at = 4",
        "UPDATE workers SET seen_at = 9",
        "UPDATE installation SET clock_us = 1",
    ],
)
def test_leases_and_clocks_are_no_evidence(path: Path, statement: str) -> None:
    assert tampered(path, statement).sound


def test_one_run_alone(path: Path) -> None:
    report = tampered(
        path,
        "UPDATE operations SET status = 'failed' WHERE operation_id = 'op_1'",
        "UPDATE people SET roles = '[]'",
        "UPDATE entries SET at = 0 WHERE run_id = 'run_b' AND sequence = 2",
        run_id="run_a",
    )
    assert (report.chains, report.entries, report.broken) == (1, 5, ())
    assert report.differences == (DifferentRow("operations", "op_1", "status"),)
    other = tampered(path, run_id="run_b")
    assert other.broken == (Broken("run_b", 2, "rewritten"),)
    assert other.differences == ()
