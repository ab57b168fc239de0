"""Named SQL: well formed, run as written, and by index where it must be."""

import re

import apsw
import pytest

from counterfoil.store.finding import numbers_in
from counterfoil.store.migrate import schema
from counterfoil.store.queries import QueryFileError, parse, queries, sql
from counterfoil.store.statements import STATEMENTS
from counterfoil.store.tables import ALL, KEY_SEPARATOR, joined


@pytest.fixture
def connection() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    connection.execute(sql("user_receipts_table"))  # in a user's own database, for `run.transact`
    return connection


def plan_of(connection: apsw.Connection, statement: str) -> str:
    names = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    bindings = names or (1,) * statement.count("?")
    return " / ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings))


def test_every_named_query_fits_the_schema(connection: apsw.Connection) -> None:
    for query in queries().values():
        plan_of(connection, query.sql)
        assert query.purpose, query.name


def test_reads_by_key_and_index_never_scan(connection: apsw.Connection) -> None:
    for table in ALL:
        statements = STATEMENTS[table.name]
        for name, statement in {"key": statements.by_key, **statements.by_index}.items():
            if (table.name, name) in SMALL:
                continue
            assert f"SCAN {table.name}" not in plan_of(connection, statement), f"{table.name} by {name}"


SMALL = {("people", "stand_in_for"), ("attempts", "worker_id"), ("runs", "worker_id"), ("runs", "parent_run_id")}
"""Partial indexes and a small table: SQLite takes their index only when it knows that no value is NULL."""


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("claimable", "runs_due_at"),
        ("next_due", "runs_due_at"),
        ("claimable_of", "runs_due_at"),
        ("claimable_elsewhere", "runs_due_at"),
        ("held_for", "runs_held_for"),
        ("held_pools", "runs_held_for"),
        ("count_held", "runs_held_for"),
        ("list_runs_in_state", "runs_state"),
        ("list_operations_with_status", "operations_status"),
        ("unresolved_operations", "operations_status"),
        ("list_reviews_in_state", "reviews_state"),
        ("open_reviews", "reviews_state"),
        ("list_open_incidents", "incidents_open"),
        ("list_acts", "entries_acts"),
        ("list_acts_of", "entries_by"),
        ("find_held", "tending_taken_by"),
        ("next_business_key", "operations_business_key"),
    ],
)
def test_questions_of_a_worker_and_of_lists_go_by_index(connection: apsw.Connection, name: str, index: str) -> None:
    plan = plan_of(connection, sql(name))
    assert f"INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan or name in SORTED


SORTED = {"unresolved_operations", "open_reviews", "find_held"}
"""Short lists over one index, sorted by another column."""


@pytest.mark.parametrize("name", ["find_named", "find_said", "find_held", "next_business_key"])
def test_finding_scans_nothing_large(connection: apsw.Connection, name: str) -> None:
    plan = plan_of(connection, sql(name))
    assert not re.search(
        r"SCAN (runs|operations|attempts|receipts|reviews|proposals|incidents|tending|entries)\b", plan
    ), plan


@pytest.mark.parametrize(
    ("text", "dialect", "problem"),
    [
        ("SELECT 1;", False, "without a name"),
        ("-- name: a\nSELECT 1;", False, "no purpose"),
        ("-- name: a\n-- to see\n", False, "no purpose or no SQL"),
        ("-- name: a\n-- to see\nSELECT 1;\n-- name: a\n-- to see\nSELECT 2;", False, "twice"),
        ("-- name: a\n-- to see\nSELECT 1;", True, "why it differs"),
    ],
)
def test_a_file_that_is_not_well_formed(text: str, dialect: bool, problem: str) -> None:
    with pytest.raises(QueryFileError, match=problem):
        parse(text, dialect=dialect)


def test_a_dialects_own_query_says_why() -> None:
    text = "-- a heading\n\n-- name: a\n-- to see\n-- differs because: it has no rowid\nSELECT 1\nFROM b;\n"
    (query,) = parse(text, dialect=True).values()
    assert (query.name, query.purpose, query.sql, query.differs) == (
        "a",
        "to see",
        "SELECT 1\nFROM b",
        "it has no rowid",
    )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("184", {"run", "operation", "review", "incident", "budget", "conversation", "document"}),
        ("conversation-184", {"conversation"}),
        ("budget-184", {"budget"}),
        ("run-184", {"run"}),
        ("op-184", {"operation"}),
        ("review-184", {"review"}),
        ("inc-184", {"incident"}),
        ("184a", set()),
        ("wrk-184", set()),
        ("9" * 16, set()),
        ("", set()),
    ],
)
def test_numbers_that_people_type(text: str, kinds: set[str]) -> None:
    found = numbers_in(text)
    assert {name.removesuffix("_number") for name, number in found.items() if number is not None} == kinds


def test_keys_are_joined_without_mixing() -> None:
    assert joined(("run_a",)) == "run_a"
    assert joined(("run_a", "b", 1)) == KEY_SEPARATOR.join(("run_a", "b", "1"))
    assert joined(("run_a", "b c", 1)) != joined(("run_a b", "c", 1))
