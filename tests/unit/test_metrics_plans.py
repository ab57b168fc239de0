"""What a scrape costs does not grow with what has ended: by the plans, and by the steps that SQLite takes."""

from typing import Any

import apsw
import pytest

from counterfoil.store.migrate import schema
from counterfoil.store.queries import sql

NOW = 1_800_000_000_000_000
GAUGES: dict[str, dict[str, Any]] = {
    "unresolved_by_operation": {"now": NOW},
    "open_reviews_by_role": {},
    "parked_by_reason": {},
    "open_incidents": {},
}
COUNTED: dict[str, dict[str, Any]] = {
    "steps_between": {"after": 0, "upto": 9},
    "counted_between": {"after": 0, "upto": 9},
    "entries_between": {"after": 0, "upto": 9},
    "open_spans": {"what": "recovery"},
    "samples_since": {"metric": "x", "since": 0},
    "samples_to_thin": {"day": 1, "week": 0, "limit": 9},
    "spans_to_forget": {"before": 1, "limit": 9},
}


def filled(ended: int) -> apsw.Connection:
    """A database with a few things open, and so many runs, operations, attempts and reviews that have ended."""
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    connection.execute("PRAGMA foreign_keys = OFF")
    for n in range(ended + 20):
        is_open = n < 20
        run: dict[str, Any] = {"run_id": f"r{n}", "number": n, "state": "parked" if is_open else "completed"}
        run |= {"reason": "outcome_unknown" if is_open else None, "deadline_at": NOW}
        insert(connection, "runs", run | {"request_id": f"q{n}"})
        status = "unknown" if is_open else "succeeded"
        insert(
            connection,
            "operations",
            {"operation_id": f"o{n}", "number": n, "run_id": f"r{n}", "status": status, "attempts": 1},
        )
        insert(connection, "attempts", {"attempt_id": f"a{n}", "operation_id": f"o{n}", "n": 1, "deadline_at": NOW})
        insert(
            connection,
            "reviews",
            {"review_id": f"v{n}", "number": n, "run_id": f"r{n}", "state": "open" if is_open else "approved"},
        )
        closed = {} if is_open else {"closed_at": NOW}
        insert(connection, "incidents", {"incident_id": f"i{n}", "number": n} | closed)
    return connection


def insert(connection: apsw.Connection, table: str, given: dict[str, Any]) -> None:
    """A row with these values, and for each other column that must have one something that the schema takes."""
    allowed: dict[str, Any] = {
        "duplicate": "costly",
        "kind": "first",
        "reached": "body",
        "sent": 1,
        "key_number": 0,
        "owner": "ops",
    }
    allowed |= {"ask_revision": 0, "closed": 1}
    row: dict[str, Any] = dict(given)
    for _, name, kind, must, default, _ in connection.execute(f"PRAGMA table_info({table})"):
        if must and default is None and name not in row:
            row[name] = allowed.get(name, {"INTEGER": 0, "TEXT": "x", "BLOB": b"x"}[kind])
    columns = ", ".join(f'"{name}"' for name in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


def plan_of(connection: apsw.Connection, name: str, given: dict[str, Any]) -> list[str]:
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql(name)}", given)]


@pytest.mark.parametrize("name", [*GAUGES, *COUNTED])
def test_every_query_reads_by_index(name: str) -> None:
    plan = plan_of(filled(0), name, (GAUGES | COUNTED)[name])
    looks = [line for line in plan if line.startswith(("SCAN", "SEARCH"))]
    assert looks and all("INDEX" in line or "PRIMARY KEY" in line for line in looks), plan


@pytest.mark.parametrize("name", GAUGES)
def test_a_gauge_takes_the_same_steps_however_much_has_ended(name: str) -> None:
    few, many = (steps_of(filled(ended), name) for ended in (0, 2_000))
    assert few > 5
    assert many <= few * 1.05, (few, many)  # a deeper tree, never more rows


def test_the_step_test_can_fail() -> None:
    """The same question without its index costs more with every run that has ended."""
    few, many = (
        steps_of(filled(ended), "SELECT count(*) FROM runs NOT INDEXED WHERE state = 'parked'") for ended in (0, 500)
    )
    assert many > few * 5


def steps_of(connection: apsw.Connection, query: str) -> int:
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection.set_progress_handler(step, 1)
    text = sql(query) if query in GAUGES else query
    list(connection.execute(text, GAUGES.get(query, {})))
    return steps
