"""No test is left out silently: each says what is missing, and in CI that is a failure."""

import ast

import pytest

from tests.architecture.source import everything
from tests.architecture.source import report as reported
from tests.left_out import failed_in_ci


def leaves_out_silently(node: ast.AST) -> bool:
    """A skip without a reason. `importorskip` names the package by itself."""
    match node:
        case ast.Call(func=ast.Attribute(attr="skipif"), keywords=named):
            return not any(each.arg == "reason" for each in named)
        case ast.Call(func=ast.Attribute(attr="skip", value=value), args=said, keywords=named):
            ours = ast.unparse(value) in ("pytest", "pytest.mark")
            return ours and not said and not any(each.arg == "reason" for each in named)
        case ast.Attribute(attr="SkipTest" | "skipTest" | "collect_ignore"):
            return True
        case _:
            return False


def test_a_test_that_is_left_out_says_what_is_missing() -> None:
    tests = [source for source in everything() if source.name.startswith("tests/")]
    found = [
        source.at(node)
        for source in tests
        for node in source.nodes()
        if leaves_out_silently(node) and not source.name.endswith("test_left_out.py")
    ]
    assert not found, reported("Say what is missing and how it is installed.", found)


def left_out(*, when: str = "call") -> pytest.TestReport:
    said = ("a file", 7, "Skipped: thing is not installed: install thing")
    return pytest.TestReport("tests/x.py::test_it", ("x.py", 7, "test_it"), {}, "skipped", said, when)  # type: ignore[arg-type]


def test_in_ci_what_was_not_run_has_failed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    module = pytest.CollectReport("tests/y.py", "skipped", ("a file", 1, "Skipped: could not import 'y'"), [])
    for each, named in ((left_out(when="setup"), "thing is not installed"), (module, "could not import 'y'")):
        failed_in_ci(each)
        assert each.outcome == "failed" and str(each.longrepr).startswith(f"not run: {each.nodeid}: {named}")


def test_elsewhere_it_is_left_out_and_what_is_expected_to_fail_is_no_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "")
    report = left_out()
    failed_in_ci(report)
    assert report.outcome == "skipped"
    monkeypatch.setenv("CI", "true")
    report.wasxfail = "known"  # pyright: ignore[reportAttributeAccessIssue]
    failed_in_ci(report)
    assert report.outcome == "skipped"


@pytest.mark.parametrize("hook", ["pytest_runtest_makereport", "pytest_make_collect_report"])
def test_every_suite_is_told_so(request: pytest.FixtureRequest, hook: str) -> None:
    told = [each.function.__module__ for each in getattr(request.config.hook, hook).get_hookimpls()]
    assert any(module.endswith("conftest") for module in told), told


def test_what_leaves_out_silently_is_seen() -> None:
    silent = ("pytest.skip()", "pytest.mark.skipif(True)", "self.skipTest")
    named = ("pytest.skip('why')", "pytest.mark.skipif(True, reason='why')", "pytest.importorskip('x')")
    assert [leaves_out_silently(ast.parse(each, mode="eval").body) for each in silent + named] == [True] * 3 + [
        False
    ] * 3
