"""The pages that a reader types along with: as printed, in order, in an empty folder."""

from pathlib import Path

import pytest

from tests.docs.diagrams import OUTSIDE, diagrams, steps_in
from tests.docs.pages import Block, blocks
from tests.docs.tour import Tour, not_said

TOURS = ("README.md", "docs/tutorial.md", "docs/choosing.md", "docs/api.md", "docs/evaluation.md", "docs/receiving.md")
# Not part of the walk: what is typed in the repository itself. tests/docs/test_blocks.py checks that it exists.
IN_THE_REPOSITORY = ("make ", "python -m benchmarks", ".venv/bin/python -m benchmarks")


def walked(page: str) -> list[Block]:
    return [block for block in blocks(page) if not block.text.startswith(IN_THE_REPOSITORY) and block.language]


@pytest.mark.parametrize("page", TOURS)
def test_as_printed(page: str, tmp_path: Path) -> None:
    with Tour(tmp_path) as tour:
        tour.walk(walked(page))
    # What really happened on the way is drawn in ARCHITECTURE.md.
    steps = steps_in(tour.folder / "counterfoil.db")
    assert (OUTSIDE, "pending") in steps["runs"] and (OUTSIDE, "prepared") in steps["operations"]
    assert {table: found - diagrams()[table] for table, found in steps.items()} == {table: set() for table in steps}


def test_the_readme_example_is_short() -> None:
    (example,) = [block for block in blocks("README.md") if block.language == "python"]
    lines = [line for line in example.text.splitlines() if line.strip()]
    assert len(lines) <= 30


def test_what_was_not_said_is_found() -> None:
    assert not_said("run-1 ... parked\nnext: ...", "run-1 bill\n  parked\nnext:  resolve") is None
    assert not_said("a ... b", "b a") == "b"
    assert not_said("one\ntwo", "two\none") == "two"
