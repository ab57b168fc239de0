"""The crash tests are played on both backends, equally often; a module that is not says why (backends.py)."""

from pathlib import Path

import pytest

from tests.crash.backends import BACKENDS, BOTH, COLLECTED, ONE_BACKEND

HERE = Path(__file__).parent


def test_every_module_is_on_both_or_says_why() -> None:
    there = {file.stem.removeprefix("test_") for file in HERE.glob("test_*.py")}
    assert there == {*BOTH, *ONE_BACKEND}
    assert not set(BOTH) & set(ONE_BACKEND)


def test_both_backends_play_the_same_cases(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what this process has collected, before anything was left out of it."""
    cases = request.config.stash[COLLECTED]
    assert cases[BACKENDS[0]] == cases[BACKENDS[1]]
    collected = {backend: found.total() for backend, found in cases.items()}
    whole = {file.name for file in HERE.glob("test_*.py")} <= {item.path.name for item in request.session.items}
    assert not whole or collected[BACKENDS[0]] > 250
    with capsys.disabled():
        print(f"\ncrash tests on both backends: {collected}")
