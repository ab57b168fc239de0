"""SQL lives in named .sql files. `store` alone knows that there is any."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import ROOT, Source, report, shipped

# Upper-case verbs as a statement begins, and statements in lower case by their shape, so that prose is not taken for SQL.
SQL = re.compile(
    r"""\s*(
        (SELECT|INSERT|DELETE|PRAGMA|WITH|ATTACH|DETACH|VACUUM|EXPLAIN|SAVEPOINT|RELEASE)\s
      | (UPDATE|CREATE|ALTER|DROP|REPLACE)\s
      | (BEGIN|COMMIT|ROLLBACK)\s*(;|$|\s(IMMEDIATE|EXCLUSIVE|DEFERRED|TRANSACTION|TO))
      | (?i:select\s.+\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|delete\s+from\s+\w+\s*(;|$|where)|update\s+\w+\s+set\s
           |create\s+(unique\s+)?(table|index|view|trigger)\s|drop\s+(table|index|view|trigger)\s|pragma\s+\w+\s*[=(;]
           |begin\s+(immediate|exclusive|deferred)\b)
    )""",
    re.VERBOSE | re.DOTALL,
)


def texts(source: Source) -> Iterator[ast.Constant]:
    """String literals, first parts of f-strings included, docstrings not."""
    prose = {id(node.value) for node in source.nodes() if isinstance(node, ast.Expr)}
    for node in source.nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node


def is_sql(text: str) -> bool:
    # A boundary or an enum value may be called by one word; a statement has more, or says where a transaction ends.
    return bool(SQL.match(text))


def test_only_store_has_sql() -> None:
    found = [
        f"{source.at(node)}: {str(node.value)[:60]!r}"
        for source in shipped()
        if source.layer != "store"
        for node in texts(source)
        if is_sql(str(node.value))
    ]
    assert not found, report("Move it into store/sql, under a name.", found)


def test_sql_files_stand_in_store() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.sql")
        if "store" not in path.relative_to(ROOT / "src" / "counterfoil").parts[:1]
    ]
    assert not found, report("Only store knows SQL.", found)


def test_the_sql_test_can_fail() -> None:
    sql = [
        "SELECT 1",
        "\n  select a, b\n from t ",
        "COMMIT",
        "begin immediate",
        "PRAGMA wal_checkpoint",
        "update runs set x = 1",
    ]
    prose = [
        "Select a review from the list",
        "Update failed",
        "Begin again",
        "COMMIT that carries the verb",
        "deleted from here",
    ]
    assert [text for text in sql if not is_sql(text)] == []
    assert [text for text in prose if is_sql(text)] == [
        "Select a review from the list"
    ]  # better one false find than a miss
