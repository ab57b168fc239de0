"""PostgreSQL's schema is SQLite's in other words, and nothing is in one of them alone that is not listed here."""

import re

from counterfoil.store.migrate import POSTGRES_FROM, migrations, newest, postgres_migrations, schema

OWN = {"TABLE counterfoil_schema", "TABLE writers", "FUNCTION json_extract", "FUNCTION rfc3339"}
ROWID = "rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, "
WITH_ROWID = {"TABLE attempts", "TABLE signals"}  # where the order of arrival is asked for
IN_POSTGRES = (
    (r"\) STRICT$", ")"),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"strftime\('%Y-%m-%dT%H:%M:%fZ', (\S+) / 1000000\.0, 'unixepoch'\)", r"rfc3339(\1)"),
    (r"/ 1000000\.0", "/ 1000000.0::float8"),
    (r"\((opened_at \+ 86400000000), ", r"((\1), "),
)


def statements(text: str) -> dict[str, str]:
    """`TABLE runs` and so on, each with its whole text on one line."""
    plain = re.sub(r"--.*", "", text)
    body = re.sub(r"\$\$.*?\$\$", "$$", plain, flags=re.DOTALL)
    found: dict[str, str] = {}
    for statement in filter(None, (" ".join(part.split()) for part in body.split(";"))):
        match = re.match(r"CREATE (?:UNIQUE )?(TABLE|INDEX|VIEW|FUNCTION) (\w+)", statement)
        assert match is not None, statement
        found[f"{match[1]} {match[2]}"] = statement
    return found


def translated(statement: str) -> str:
    for found, written in IN_POSTGRES:
        statement = re.sub(found, written, statement)
    return statement


def test_both_have_the_same_tables_columns_states_and_indexes() -> None:
    ours, theirs = statements(schema()), statements(schema("postgres"))
    assert theirs.keys() - ours.keys() == OWN
    assert ours.keys() <= theirs.keys()
    for name, statement in ours.items():
        expected = theirs[name].replace(ROWID, "") if name in WITH_ROWID else theirs[name]
        assert translated(statement) == expected, name
    assert all(ROWID in theirs[name] for name in WITH_ROWID)


def test_every_migration_since_the_first_release_on_postgres_has_its_twin() -> None:
    # Until a release has PostgreSQL, a new migration changes its schema.sql and raises POSTGRES_FROM.
    assert [step.number for step in postgres_migrations()] == list(range(POSTGRES_FROM + 1, newest() + 1))
    names = {step.number: step.name for step in migrations()}
    assert all(names[step.number] == step.name for step in postgres_migrations())
