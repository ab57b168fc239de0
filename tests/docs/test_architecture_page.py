"""ARCHITECTURE.md is about this code: layers, functions, boundaries, tests, states, decisions."""

import re
import tomllib

import pytest

from counterfoil.engine.boundaries import BOUNDARIES
from counterfoil.model.operation import OperationStatus
from counterfoil.model.review import ReviewState
from counterfoil.model.run import RunState
from tests.docs.diagrams import COLUMNS, OUTSIDE, checked_in_schema, diagrams, states_of
from tests.docs.pages import ROOT, blocks, code_in, pages, section, tables

PAGE = "ARCHITECTURE.md"
ENUMS = {"runs": RunState, "operations": OperationStatus, "reviews": ReviewState}
NAMED = re.compile(r"\[`(\w+)`\]\((\S+?\.py)\)")


def path_of_data() -> list[dict[str, str]]:
    head, *rows = tables(section(PAGE, "The path of data"))[0]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_layers_are_those_of_the_linter() -> None:
    linted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    there = {path.stem for path in (ROOT / "src" / "counterfoil").iterdir()}
    wanted = [{name for name in re.findall(r"\w+", layer) if name in there} for layer in linted]
    (drawn,) = [block for block in blocks(PAGE) if block.text.startswith("__main__ ")]
    lines = [set(re.findall(r"\w+", line[:28])) for line in drawn.text.strip().splitlines()]
    assert lines == [layer for layer in wanted if layer]
    agents = next(block.text for block in blocks("AGENTS.md") if " > " in block.text)
    assert [set(re.findall(r"\w+", layer)) for layer in agents.split(">")] == lines


@pytest.mark.parametrize(("name", "path"), sorted(set(NAMED.findall(pages()[PAGE]))))
def test_what_is_named_is_defined_there(name: str, path: str) -> None:
    assert re.search(rf"^(?:async )?(?:class|def) {name}\b", (ROOT / path).read_text(), re.MULTILINE)


def test_every_row_of_the_path_has_a_function_a_boundary_and_a_test() -> None:
    rows = path_of_data()
    assert sorted({int(row["#"]) for row in rows}) == list(range(1, 14))
    for row in rows:
        assert NAMED.search(row["verb or function"]), row
        (_, test), *_ = NAMED.findall(row["test"])
        assert test.startswith("tests/"), row


def test_the_boundaries_of_the_path_are_those_of_the_code() -> None:
    declared = {each.name: each for each in BOUNDARIES}
    for row in path_of_data():
        for name in code_in(row["boundary"]):
            assert declared[name].row == int(row["#"]), name
    named = {name for row in path_of_data() for name in code_in(row["boundary"])}
    on_the_path = {each.name for each in BOUNDARIES if each.row in (1, 6, 7, 8, 9, 10, 11, 12)}
    assert on_the_path <= named


def test_a_verb_of_the_path_carries_the_boundary_beside_it() -> None:
    for row in path_of_data():
        (name, path), *_ = NAMED.findall(row["verb or function"])
        declared = re.search(
            rf"^class {name}\(\w+\):.*?boundary: ClassVar\[str\] = \"([\w.]+)\"", (ROOT / path).read_text(), re.M | re.S
        )
        if declared is not None and code_in(row["boundary"]):
            assert declared[1] == code_in(row["boundary"])[0], name


@pytest.mark.parametrize("table", COLUMNS)
def test_the_diagram_has_the_states_of_enum_and_schema(table: str) -> None:
    schema = (ROOT / "src/counterfoil/store/sql/schema.sql").read_text()
    states = {state.value for state in ENUMS[table]}
    assert states_of(diagrams()[table]) == states == checked_in_schema(schema, table)


@pytest.mark.parametrize("table", COLUMNS)
def test_every_state_of_a_diagram_is_reached_and_left_or_ends(table: str) -> None:
    arrows = diagrams()[table]
    states = states_of(arrows)
    assert {after for _, after in arrows} - {OUTSIDE} == states
    assert {before for before, _ in arrows} - {OUTSIDE} == states


def test_decisions_are_numbered_and_each_says_something() -> None:
    text = section(PAGE, "Decisions")
    heads = re.findall(r"^### (\d+)\. ", text, re.MULTILINE)
    assert [int(head) for head in heads] == list(range(1, len(heads) + 1))
    parts = re.split(r"^### .+$", text, flags=re.MULTILINE)[1:]
    assert all(len(part.split()) > 30 for part in parts)
    assert len(heads) >= DECISIONS, "append only"


DECISIONS = 26  # raise it with each that is added
