"""The migration that changes a CHECK where SQLite keeps it: on a file with runs in it, inside its one transaction."""

from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from counterfoil.model.run import RunState
from counterfoil.store.migrate import migrations
from counterfoil.store.tables import BY_NAME
from counterfoil.testing.conformance.samples import run_named

ADDED = ("draws", "budget_id", "after_run_id", "known_from", "held_for", "slots")
RUNS = BY_NAME["runs"]


def insert(connection: apsw.Connection, number: int, reason: str, *, without: tuple[str, ...] = ()) -> None:
    run = replace(run_named(f"run_{number}", number), state=RunState.PARKED, reason=reason)
    row = {name: value for name, value in zip(RUNS.columns, RUNS.values(run), strict=True) if name not in without}
    names, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO runs ({names}) VALUES ({places})", tuple(row.values()))


def test_a_file_with_runs_takes_the_new_reasons_and_no_others(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "old.db"))
    connection.execute("PRAGMA journal_mode = wal; PRAGMA foreign_keys = ON")
    for step in migrations()[:4]:
        connection.execute(step.sql)
    insert(connection, 1, "budget_spend", without=ADDED)
    with pytest.raises(apsw.ConstraintError):
        insert(connection, 2, "budget_calls", without=ADDED)

    connection.execute("BEGIN IMMEDIATE")
    for step in migrations()[4:]:
        connection.execute(step.sql)
    connection.execute("COMMIT")

    for fresh in (connection, apsw.Connection(str(tmp_path / "old.db"))):
        kept = fresh.execute("SELECT reason, draws, budget_id FROM runs WHERE run_id = 'run_1'").fetchone()
        assert kept == ("budget_spend", None, None)
        number = 10 + fresh.execute("SELECT count(*) FROM runs").get
        insert(fresh, number, "budget_calls")
        insert(fresh, number + 100, "budget_tokens")
        with pytest.raises(apsw.ConstraintError):
            insert(fresh, number + 200, "nonsense")
        assert fresh.execute("PRAGMA integrity_check").get == "ok"
        assert fresh.execute("PRAGMA writable_schema").get == 0
