"""State diagrams of the docs, and the steps from state to state that a database's journal really holds."""

import json
import re
import sqlite3
from pathlib import Path

from tests.docs.pages import blocks

ARROW = re.compile(r"^\s*(\[\*\]|\w+) --> (\[\*\]|\w+)", re.MULTILINE)
COLUMNS = {"runs": "state", "operations": "status", "reviews": "state"}
OUTSIDE = "[*]"


def diagrams(page: str = "ARCHITECTURE.md") -> dict[str, set[tuple[str, str]]]:
    """The arrows of each diagram, by the table that it is about; the page has them in this order."""
    found = [set(ARROW.findall(block.text)) for block in blocks(page) if block.language == "mermaid"]
    return dict(zip(COLUMNS, found, strict=True))


def states_of(arrows: set[tuple[str, str]]) -> set[str]:
    return {state for arrow in arrows for state in arrow} - {OUTSIDE}


def checked_in_schema(schema: str, table: str) -> set[str]:
    """The values that the CHECK of a table's state column allows."""
    (body,) = re.findall(rf"CREATE TABLE {table} \((.*?)\n\) STRICT;", schema, re.DOTALL)
    (values,) = re.findall(rf"CHECK \({COLUMNS[table]} IN \((.*?)\)\)", body)
    return set(re.findall(r"'(\w+)'", values))


def steps_in(database: Path) -> dict[str, set[tuple[str, str]]]:
    """Every change of a state that the entries of a database carry."""
    found: dict[str, set[tuple[str, str]]] = {table: set() for table in COLUMNS}
    now: dict[tuple[str, str], str] = {}
    connection = sqlite3.connect(database)
    try:
        bodies = connection.execute("select body from entries order by ordinal").fetchall()
    finally:
        connection.close()
    for (body,) in bodies:
        for table, rows in json.loads(body).get("rows", {}).items():
            for key, changed in rows.items():
                if table in COLUMNS and COLUMNS[table] in changed:
                    before, after = now.get((table, key), OUTSIDE), changed[COLUMNS[table]]
                    found[table].add((before, after))
                    now[table, key] = after
    return {table: {step for step in steps if step[0] != step[1]} for table, steps in found.items()}
