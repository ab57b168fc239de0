"""Tables of the docs that are written from the code: `python -m tests.docs.written` writes them anew.

A page holds a written part between two comments; what stands around it is ours.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from counterfoil import settings
from counterfoil.app import App
from counterfoil.cli.shapes import PARKED
from counterfoil.connectors.drilled import drills
from counterfoil.console.asgi import asgi
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.plan import NAMED
from counterfoil.engine.boundaries import BOUNDARIES
from counterfoil.model.metrics import METRICS
from counterfoil.model.operation import OPERATION_SENTENCES
from counterfoil.model.review import REVIEW_SENTENCES
from counterfoil.model.run import PARK_SENTENCES, RUN_SENTENCES
from counterfoil.rules.recovery import CASES, IMPOSSIBLE, combinations, count_matches, fact_values
from counterfoil.testing.guards import GUARDS
from tests.crash.rows import PROOFS, ROWS
from tests.docs.receivers import catalogue_rows, receiver_pages

DOCS = Path(__file__).resolve().parents[2] / "docs"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines += [["---"] * len(lines[0])]
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cases() -> str:
    """The recovery table, with how many combinations of facts each case rules."""
    matched = count_matches()
    rows = [[c.letter, c.words, c.ruling, f"{matched[c.letter]:,}", c.sentence] for c in CASES]
    total = f"{combinations():,} combinations of {len(fact_values())} facts; each has exactly one case."
    return f"{table(('case', 'facts in words', 'ruling', 'combinations', 'sentence'), rows)}\n\n{total}"


def facts() -> str:
    return table(("fact", "values"), [[f"`{name}`", ", ".join(values)] for name, values in fact_values().items()])


def impossible() -> str:
    return table(("name", "sentence"), [[f"`{each.name}`", each.sentence] for each in IMPOSSIBLE])


def boundaries() -> str:
    rows = [[f"`{b.name}`", b.kind, b.verb, str(b.row) if b.row else "-"] for b in BOUNDARIES]
    return table(("boundary", "kind", "verb", "row"), rows)


def guards() -> str:
    return table(
        ("guard", "what it holds up", "where"), [[f"`{g.guard}`", g.invariant, f"`{g.where}`"] for g in GUARDS.values()]
    )


def run_states() -> str:
    return table(("state", "means"), [[f"`{state.value}`", said] for state, said in RUN_SENTENCES.items()])


def operation_states() -> str:
    return table(("status", "means"), [[f"`{state.value}`", said] for state, said in OPERATION_SENTENCES.items()])


def review_states() -> str:
    return table(("state", "means"), [[f"`{state.value}`", said] for state, said in REVIEW_SENTENCES.items()])


def park_reasons() -> str:
    rows = [[f"`{reason.value}`", said, f"`{PARKED[reason.value]}`"] for reason, said in PARK_SENTENCES.items()]
    return table(("reason", "means", "command"), rows)


def metrics() -> str:
    rows = [
        [f"`{m.full_name}`", f"{m.kind}, {m.unit}", ", ".join(m.labels) or "-", m.of, m.definition, m.does_not_count]
        for m in METRICS
    ]
    return table(("metric", "kind, unit", "labels", "of the", "what it is", "what it does not count"), rows)


def known_settings() -> str:
    return table(
        ("name", "default", "what it is"), [[f"`{s.name}`", default_of(s), s.about] for s in settings.in_force()]
    )


def endpoints() -> str:
    """Every endpoint of the API, from its description."""
    described = asgi(App("described")).openapi()["paths"]
    rows = [
        [f"`{method.upper()} {path.removeprefix('/api/v1')}`", endpoint["description"]]
        for path, methods in described.items()
        for method, endpoint in methods.items()
    ]
    return table(("endpoint", "what it does"), rows)


def faults() -> str:
    """Every fault of the registry, in the order in which they are played."""
    rows = [
        [f"`{name}`", fault.sentence + (f" Not built yet: issue {fault.not_built}." if fault.not_built else "")]
        for name, fault in FAULTS.items()
    ]
    return table(("fault", "what is done"), rows)


def drilled() -> dict[str, Any]:
    """The figures of the last `make drills`."""
    return json.loads((DOCS / "drills" / "figures.json").read_text())


def named() -> str:
    """The named drills, each with what the examples showed."""
    on_files = {name: each for name, each in drilled().items() if each.get("backend", "sqlite") == "sqlite"}
    found = {name: {case["name"]: case for case in each["named"]} for name, each in on_files.items()}
    rows = [
        [f"`{drill.name}`", drill.shows, *(showed(cases.get(drill.name)) for cases in found.values())]
        for drill in NAMED
    ]
    return table(("drill", "what is done", *(f"[{name}](drills/{name}.html) showed" for name in found)), rows)


def showed(case: dict[str, Any] | None) -> str:
    """Verdict, and what it rests on."""
    if case is None:
        return "-"
    counts = ", ".join(
        f"{case[field]} {word if case[field] == 1 else word + 's'}"
        for field, word in (("records", "record"), ("attempts", "attempt"), ("receipts", "receipt"))
        if case[field] is not None
    )
    return f"{case['verdict'].replace('_', ' ')}: {case['outcome']}, {counts}" if counts else case["verdict"]


def crashes() -> str:
    """What a crash does to an agent, row by row, with the tests that show it."""
    crash_tests()
    rows = [
        [each.at, each.does, each.left, each.who, ", ".join(f"`{test}`" for test in PROOFS[name])]
        for name, each in ROWS.items()
    ]
    return table(("its worker is killed", "what that does", "what is left", "who goes on", "shown by"), rows)


def crash_tests() -> set[str]:
    """Every test of the files that are about nothing but agents. All files whose tests prove a row are imported."""
    tests: set[str] = set()
    for file in sorted((DOCS.parent / "tests" / "crash").glob("test_*.py")):
        if "from tests.crash.rows import row" in file.read_text():
            found = vars(import_module(f"tests.crash.{file.stem}"))
            tests |= {f"{file.name}::{name}" for name in found if name.startswith("test_") and about_agents(file.name)}
    return tests


def about_agents(file: str) -> bool:
    return file.startswith(("test_agent", "test_tools"))


LEDGERS = {"sqlite": "a file", "postgres": "PostgreSQL"}


def drill_costs() -> str:
    counted = ("cases", "passed", "failed", "not_applicable", "not_run")
    rows = [
        [
            f"[`{each['target']}`](drills/{name}.html)",
            LEDGERS[each.get("backend", "sqlite")],
            what,
            *(str(summary[name]) for name in counted),
            f"{summary['seconds']:.0f}",
            str(each["jobs"]),
        ]
        for name, each in drilled().items()
        for what, summary in each["summaries"].items()
    ]
    return table(("target", "ledger", "", *(name.replace("_", " ") for name in counted), "seconds", "at once"), rows)


def catalogue() -> str:
    """Every receiver that is known."""
    head = ("entry", "receiver", "kind", "key in", "a repeat is harmless", "lookup", "a lost reply")
    return table(head, catalogue_rows())


def connectors() -> str:
    """Every connector, where it is drilled, and how."""
    rows = [
        [
            f"`{each.connector}`",
            ", ".join(f"[`{entry}`](receivers/{entry}.md)" for entry in each.entries),
            f"{each.server} ({each.server_kind})",
            ", ".join(f"`{case.name}`" for case in each.cases),
        ]
        for each in drills()
    ]
    return table(("connector", "contract", "drilled at", "cases"), rows)


def default_of(setting: settings.Setting) -> str:
    """Read with that one variable out of the environment, so that the page says the same on every machine."""
    kept = os.environ.pop(setting.name, None)
    try:
        value = next(each.value for each in settings.in_force() if each.name == setting.name)
    finally:
        if kept is not None:
            os.environ[setting.name] = kept
    return f"`{value}`" if value else "-"


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "recovery.md": {"cases": cases, "facts": facts, "impossible": impossible},
    "boundaries.md": {"boundaries": boundaries},
    "guards.md": {"guards": guards},
    "states.md": {
        "run": run_states,
        "operation": operation_states,
        "review": review_states,
        "park reasons": park_reasons,
    },
    "metrics.md": {"metrics": metrics},
    "settings.md": {"settings": known_settings},
    "agents.md": {"crashes": crashes},
    "api.md": {"endpoints": endpoints},
    "drills.md": {"faults": faults, "named": named, "costs": drill_costs},
    "connectors.md": {"connectors": connectors},
    "receivers/README.md": {"catalogue": catalogue},
}


def with_parts(page: str, parts: dict[str, Callable[[], str]]) -> str:
    """A page with its written parts replaced. Raises AssertionError for a part that the page does not hold once."""
    for name, write in parts.items():
        begin, end = f"<!-- written: {name} -->", f"<!-- end: {name} -->"
        assert page.count(begin) == page.count(end) == 1, f"one part {name!r}"
        said = f"{begin}\n\n{write()}\n\n{end}"
        page = re.sub(rf"{re.escape(begin)}.*?{re.escape(end)}", lambda _, said=said: said, page, flags=re.DOTALL)
    return page


def write() -> None:
    for name, parts in PARTS.items():
        page = DOCS / name
        page.write_text(with_parts(page.read_text(), parts))
    for name, page in receiver_pages().items():
        (DOCS / "receivers" / name).write_text(page)


if __name__ == "__main__":
    write()
