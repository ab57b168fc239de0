"""What was counted, as a page shows it. Numbers, and no judgement."""

from collections.abc import Sequence

from benchmarks.peers.battery import Row
from benchmarks.peers.engines import ENGINES
from benchmarks.peers.environment import pinned
from benchmarks.peers.faults import FAULTS

BEGIN, END = "<!-- written by benchmarks.peers: begin -->", "<!-- written by benchmarks.peers: end -->"
KINDS = {"key": "A receiver that honours a key", "lookup": "A receiver without keys, which can be asked"}


def written(rows: Sequence[Row]) -> str:
    """Versions, the exact faults, and one table for each receiver: its records, and what the program said at its end."""
    names = [engine.name for engine in ENGINES if any(row.engine == engine.name for row in rows)]
    parts = [_versions(names)]
    parts += [_table(rows, kind, names) for kind in KINDS if any(row.receiver == kind for row in rows)]
    faults = [fault for fault in FAULTS if any(row.fault == fault.name for row in rows)]
    parts.append(
        "\n".join(["| fault | what was done |", "| --- | --- |", *(f"| `{f.name}` | {f.sentence} |" for f in faults)])
    )
    return "\n\n".join(parts)


def into(page: str, rows: Sequence[Row]) -> str:
    """A page with its written part replaced. ValueError for a page without one."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{written(rows)}\n\n{END}{rest.split(END)[1]}"


def _versions(names: Sequence[str]) -> str:
    known = pinned()
    shown = [f"{package} {known[package]}" for e in ENGINES if e.name in names for package in e.packages]
    return "Versions: " + ", ".join(shown) + "."


def _table(rows: Sequence[Row], kind: str, names: Sequence[str]) -> str:
    cells = {(row.fault, row.engine): row for row in rows if row.receiver == kind}
    lines = [f"**{KINDS[kind]}**", "", "| " + " | ".join(["fault", *names]) + " |", "|" + " --- |" * (len(names) + 1)]
    for fault in FAULTS:
        found = [cells.get((fault.name, name)) for name in names]
        if any(found):
            lines.append("| " + " | ".join([f"`{fault.name}`", *map(_cell, found)]) + " |")
    return "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None or row.records is None:
        return "not played"
    return f"{row.records}, {row.state}"
