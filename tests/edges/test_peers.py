"""The battery beside other engines: each program is as short as promised, its faults are told exactly, and our own rows hold."""

import ast
import re
import tomllib
from dataclasses import replace

import pytest

from benchmarks.peers.battery import Row, played
from benchmarks.peers.engines import ENGINES, Engine
from benchmarks.peers.environment import REQUIREMENTS, ROOT, pinned
from benchmarks.peers.faults import FAULTS, KEY, LOOKUP
from benchmarks.peers.tables import BEGIN, END, into, written

OURS = ENGINES[0]
BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_program_has_under_eighty_lines_and_does_the_same(engine: Engine) -> None:
    text = engine.file.read_text()
    assert len(text.splitlines()) < 80
    names = {
        node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert "read_charge" in names
    assert text.count('"/refunds"') >= 1
    assert "// 2" in text  # the choice, which no model makes here


def test_the_peers_are_pinned_and_nobody_needs_them_to_use_ours() -> None:
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z-]+==[0-9][0-9.]*", line) for line in lines)
    assert {package for engine in ENGINES for package in engine.packages} <= set(pinned())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = {re.split(r"[\[>=]", line)[0] for line in project["dependencies"]}
    assert len(ours) == len(project["dependencies"]) > 5
    assert not {line.partition("==")[0] for line in lines} & ours


@pytest.mark.parametrize("kind", [KEY, LOOKUP])
def test_our_own_row(kind: str) -> None:
    """The whole battery takes minutes; this is one fault of it at each receiver."""
    [row] = played([(BY_NAME["drop-reply"], kind, OURS)], 1, lambda _: None)
    assert row.problem is None
    assert (row.records, row.state) == (1, "done")


def test_a_program_that_never_ends_well_is_told_as_that() -> None:
    nothing = replace(OURS, name="nothing", program="on_nothing.py")
    [row] = played([(BY_NAME["resubmitted"], KEY, nothing)], 1, lambda _: None)
    assert (row.records, row.state, row.requests) == (0, "not finished", 0)


def test_a_case_that_cannot_be_played_is_a_row_with_its_problem() -> None:
    def play(*_: object) -> int:
        raise OSError("no such server")

    [row] = played([(replace(BY_NAME["kill"], play=play), KEY, OURS)], 1, lambda _: None)
    assert (row.records, row.state, row.problem) == (None, "not played", "OSError: no such server")


def test_the_tables_say_what_was_counted() -> None:
    rows = [Row("kill", KEY, "counterfoil", 1, "done", 2), Row("kill", KEY, "dbos", 2, "not finished", 2)]
    text = written(rows)
    assert "| `kill` | 1, done | 2, not finished |" in text
    assert f"dbos {pinned()['dbos']}" in text
    assert BY_NAME["kill"].sentence in text
    assert into(f"a\n{BEGIN}\nold\n{END}\nb", rows) == f"a\n{BEGIN}\n\n{text}\n\n{END}\nb"


def test_the_page_holds_a_figure_for_every_case() -> None:
    page = (ROOT / "docs" / "peers.md").read_text()
    part = page.split(BEGIN)[1].split(END)[0]
    assert "not played" not in part
    for fault in FAULTS:
        assert part.count(f"| `{fault.name}` | ") == len(fault.kinds) + 1
        assert fault.sentence in part
    assert all(f"{package} {pinned()[package]}" in part for engine in ENGINES for package in engine.packages)
