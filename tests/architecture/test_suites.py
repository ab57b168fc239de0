"""What runs the suites: a suite that leaves nothing out is wrong where it left something out."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_suites.py"
REPORT = '<testsuite><testcase classname="a" name="b" time="1"/><testcase classname="a" name="c"><skipped/></testcase></testsuite>'


@pytest.fixture
def suites(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_suites", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_suites", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "REPORTS", tmp_path)
    monkeypatch.setattr(module, "tested", lambda suite, report, extra: (report.write_text(REPORT), 0)[1])
    return module


@pytest.mark.parametrize(("suite", "failed"), [("conformance", 1), ("crash", 1), ("docs", 0)])
def test_a_skipped_test_is_a_failure_of_the_suites_that_are_whole(suites: ModuleType, suite: str, failed: int) -> None:
    outcome = suites.run(suite)
    assert (outcome.passed, outcome.skipped, outcome.failed) == (1, 1, failed)
