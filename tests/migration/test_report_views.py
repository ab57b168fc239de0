"""The views for reports: as the page says, without what must not leave, and readable beside a writer."""

import re
from pathlib import Path

import apsw
import pytest

from counterfoil.store.migrate import schema
from counterfoil.store.statements import STATEMENTS
from counterfoil.store.tables import BY_RECORD
from counterfoil.testing.conformance.samples import DIGEST, INSTALLATION, one_of_each, run_named

PAGE = (Path(__file__).parents[2] / "docs" / "reporting.md").read_text()
PROMISED = {
    match[1]: re.findall(r"`(\w+)`", match[2])
    for match in re.finditer(r"^\| `(report_\w+)` \| [^|]+ \| (.+) \|$", PAGE, re.M)
}
NEVER = {
    "payload",
    "input",
    "result",
    "failure",
    "comment",
    "text",
    "body",
    "secret_hash",
    "token_hash",
    "scope",
    "exchange",
}


@pytest.fixture
def database() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    run = run_named("run_a", 1)
    for row in (INSTALLATION, run, *one_of_each("run_a")):
        table = BY_RECORD[type(row)]
        connection.execute(STATEMENTS[table.name].insert, table.values(row))
    return connection


def test_the_page_promises_every_view() -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    views = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    assert views == set(PROMISED) and len(views) == 4


@pytest.mark.parametrize("view", sorted(PROMISED))
def test_a_view_has_the_columns_that_the_page_promises(database: apsw.Connection, view: str) -> None:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({view})")]
    assert columns == PROMISED[view]
    assert not NEVER & set(columns)
    rows = list(database.execute(f"SELECT * FROM {view}"))
    assert len(rows) == (0 if view == "report_interventions" else 1)


@pytest.mark.parametrize("view", sorted(PROMISED))
def test_a_view_is_read_only(database: apsw.Connection, view: str) -> None:
    with pytest.raises(apsw.SQLError):
        database.execute(f"UPDATE {view} SET run_id = 'x'")
    with pytest.raises(apsw.SQLError):
        database.execute(f"DELETE FROM {view}")


def test_times_are_rfc_3339_and_amounts_minor_units(database: apsw.Connection) -> None:
    database.execute(
        "UPDATE operations SET amount_minor = 1250, currency = 'EUR', prepared_at = 1767225600123456, closed_at = NULL"
    )
    found = database.execute(
        "SELECT amount_minor, currency, prepared_at, closed_at, payload_digest FROM report_operations"
    )
    assert list(found) == [(1250, "EUR", "2026-01-01T00:00:00.123Z", None, DIGEST)]
