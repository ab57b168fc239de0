"""The twenty-one traps of real receivers. A trap is a test by its name, `trap_01_...` (pyproject.toml says so)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.traps.stage import Build, Stage


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Builds stages: an application over one contract, and a sandbox that keeps it."""
    made: list[Stage] = []

    def build(entry: str, **how: Any) -> Stage:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Stage(folder, monkeypatch, entry, **how))
        return made[-1]

    yield build
    for each in made:
        each.close()
