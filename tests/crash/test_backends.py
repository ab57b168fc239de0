"""The crash tests are played on both backends, equally often; a module that is not says why (backends.py)."""

from pathlib import Path

import pytest

from tests.crash.backends import ALONE, BACKENDS, COLLECTED, NO_LEDGER

HERE = Path(__file__).parent


def test_what_is_on_one_backend_alone_is_met_on_the_other() -> None:
    for name, alone in ALONE.items():
        assert (HERE / f"test_{name}.py").exists() and alone.backend in BACKENDS and alone.why
        assert alone.elsewhere
        for place in alone.elsewhere:
            file, _, test = place.partition("::")
            assert f"def {test}(" in (HERE.parent / file).read_text(), place


def test_both_backends_play_the_same_cases(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what this process has collected, before anything was left out of it."""
    cases = request.config.stash[COLLECTED]
    sqlite, postgres, neither = (cases[backend] for backend in (*BACKENDS, ""))
    assert sqlite == postgres
    assert set(neither) <= NO_LEDGER, "a test that opens a ledger takes it from the fixture `ledgers`"
    collected = {backend: cases[backend].total() for backend in BACKENDS}
    whole = {file.name for file in HERE.glob("test_*.py")} <= {item.path.name for item in request.session.items}
    assert not whole or collected[BACKENDS[0]] > 650
    with capsys.disabled():
        print(f"\ncrash tests on both backends: {collected}")
