"""The migrations reach the schema, the schema is the records, and its states are the enums'."""

import re
from enum import StrEnum
from importlib.resources import files

import apsw
import pytest

from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import ParkReason, RunState
from counterfoil.store.migrate import migrations, newest, schema
from counterfoil.store.tables import ALL, ENTRIES


def database_of(*statements: str) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    for statement in statements:
        connection.execute(statement)
    return connection


def shape_of(connection: apsw.Connection) -> list[tuple[str, str, str | None]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
    # SQLite writes an added column into the text as it likes, as to spaces.
    return [
        (kind, name, " ".join(sql.split()).replace(" )", ")").replace(" ,", ",") if sql else None)
        for kind, name, sql in rows
    ]


def test_the_migrations_reach_the_schema() -> None:
    assert shape_of(database_of(*(step.sql for step in migrations()))) == shape_of(database_of(schema()))


def test_migrations_are_numbered_and_named() -> None:
    folder = files("counterfoil.store") / "sql" / "migrations"
    names = sorted(file.name for file in folder.iterdir())
    assert all(re.fullmatch(r"[0-9]{4}_[a-z][a-z0-9_]*\.sql", name) for name in names)
    assert newest() == len(names)


@pytest.mark.parametrize("table", [*ALL, ENTRIES], ids=lambda table: table.name)
def test_a_table_is_its_record(table: object) -> None:
    connection = database_of(schema())
    name, columns = table.name, list(table.columns)  # type: ignore[attr-defined]
    stored = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
    assert stored == (["ordinal", *columns] if name == "entries" else columns)
    keys = [row[1] for row in connection.execute(f"PRAGMA table_info({name})") if row[5]]
    assert keys == (["ordinal"] if name == "entries" else list(table.key))  # type: ignore[attr-defined]


def test_no_table_is_without_a_record() -> None:
    tables = {row[0] for row in database_of(schema()).execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {table.name for table in (*ALL, ENTRIES)} | {"chains", "counters", "marks"}


@pytest.mark.parametrize(
    ("table", "column", "kind"),
    [
        ("runs", "state", RunState),
        ("runs", "reason", ParkReason),
        ("operations", "status", OperationStatus),
        ("reviews", "state", ReviewState),
    ],
)
def test_the_states_of_a_table_are_those_of_its_enum(table: str, column: str, kind: type[StrEnum]) -> None:
    sql = database_of(schema()).execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).get
    (values,) = re.findall(rf"\b{column} IN \(([^)]*)\)", sql)
    assert re.findall(r"'(\w+)'", values) == [member.value for member in kind]
