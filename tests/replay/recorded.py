"""A whole database as its journal, in a JSON file: written once at a release, read for ever.

    python -m tests.replay.recorded DATABASE FILE        writes the journal of a database

Rows stand in the journal too, so a database is built again from its entries alone.
"""

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import apsw

from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.marker import OutsideMarker, Place
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.store.tables import ALL, ENTRIES
from counterfoil.testing.fake_clock import FakeClock

FENCE = 100  # of whoever held a run last: a claim gets a higher one
_COLUMNS = [field.name for field in fields(Entry)]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The entries of every chain, in the order in which they were stored."""

    entries: tuple[Entry, ...]

    @staticmethod
    def of(file: Path) -> "Recorded":
        """Read a file that `write` has written."""
        lines: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["entries"]
        return Recorded(
            tuple(
                Entry(**line | {"kind": EntryKind(line["kind"]), "digest": bytes.fromhex(line["digest"])})
                for line in lines
            )
        )

    @property
    def installation_id(self) -> str:
        return self.entries[0].run_id

    @property
    def run_ids(self) -> list[str]:
        return [entry.run_id for entry in self.entries if entry.kind is EntryKind.SUBMITTED]

    def last_of(self, run_id: str) -> Entry:
        return next(entry for entry in reversed(self.entries) if entry.run_id == run_id)

    def before_the_end(self, run_id: str) -> "Recorded":
        """Without the entry with which that run ended or was parked last, and what came after it in its chain."""
        ends = (EntryKind.FINISHED, EntryKind.PARKED)
        last = max(e.sequence for e in self.entries if e.run_id == run_id and e.kind in ends)
        return Recorded(tuple(e for e in self.entries if e.run_id != run_id or e.sequence < last))

    def rows(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Table, key, columns: what the entries say that the tables hold."""
        tables: dict[str, dict[str, dict[str, Any]]] = {}
        for entry in self.entries:
            for name, rows in json.loads(entry.body).get("rows", {}).items():
                for key, columns in rows.items():
                    tables.setdefault(name, {}).setdefault(key, {}).update(columns)
        return tables

    def rows_of(self, table: str, run_id: str) -> list[dict[str, Any]]:
        return [row for row in self.rows().get(table, {}).values() if row["run_id"] == run_id]


def write(database: Path, file: Path) -> None:
    """The journal of a database, one entry a line."""
    opened = SqliteDatabase(database, FakeClock())
    with opened.reader() as reader:
        entries = [entry for _, entry in reader.journal()]
    opened.close()
    lines = [
        json.dumps(
            {name: getattr(entry, name) for name in _COLUMNS} | {"digest": entry.digest.hex()}, ensure_ascii=False
        )
        for entry in entries
    ]
    file.write_text('{"entries": [\n' + ",\n".join(lines) + "\n]}\n", "utf-8")


def build(recorded: Recorded, location: Path, state: Path) -> None:
    """A database of this code's schema that holds these entries, the rows they make, and its outside marker."""
    SqliteDatabase(location, FakeClock(), create=True).close()
    connection = apsw.Connection(str(location))
    with connection:
        for ordinal, entry in enumerate(recorded.entries, start=1):
            _insert(
                connection, "entries", {"ordinal": ordinal} | dict(zip(_COLUMNS, ENTRIES.values(entry), strict=True))
            )
        rows = recorded.rows()
        for table in ALL:
            for row in rows.get(table.name, {}).values():
                _insert(connection, table.name, row | _volatile(table.name, row, recorded))
        last = recorded.last_of(recorded.installation_id)
        _insert(connection, "chains", {"run_id": last.run_id, "sequence": last.sequence, "head": last.digest})
        for what in ("run", "operation", "review", "incident"):
            numbers = [row["number"] for row in rows.get(f"{what}s", {}).values()]
            _insert(connection, "counters", {"what": what, "value": max(numbers, default=0)})
    connection.close()
    opened = SqliteDatabase(location, FakeClock())
    OutsideMarker(state, recorded.installation_id, lambda: Place.of(location)).flush(opened.marked())
    opened.close()


def _volatile(table: str, row: dict[str, Any], recorded: Recorded) -> dict[str, Any]:
    """The columns that are no evidence, as they are when nobody holds the run."""
    if table == "installation":
        newest = recorded.entries[-1].at
        return {"batches": len(recorded.entries), "rolling": bytes(32), "in_flight_batch": 0, "clock_us": newest}
    if table != "runs":
        return {}
    last = recorded.last_of(row["run_id"])
    free = {"fence": FENCE, "worker_id": None, "lease_until": last.at, "executing": 0, "due_at": last.at}
    return free | {"updated_at": last.at, "sequence": last.sequence, "head": last.digest}


def _insert(connection: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
