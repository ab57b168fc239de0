"""Drills in a user's own pytest: a marked test drills its workflow when it runs, and each case is a result of its own.

    @pytest.mark.drill("shop:buy")
    def test_an_order_survives(drill):
        drill.passes()

Nothing but pytest is imported before a marked test runs: a run without one pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MARKER = (
    "drill(target, only=None, seed=0, jobs=2, receiver=None, receiver_url=None): play the failures of MODULE:WORKFLOW; "
    "the options are those of `counterfoil drill`"
)
TARGET = "@pytest.mark.drill(MODULE:WORKFLOW) says what the fixture `drill` drills"
OUTCOMES = {"pass": "passed", "not_applicable": "skipped", "not_run": "skipped"}


@dataclass(frozen=True, slots=True)
class Drilled:
    """What a drill found. `data` is the answer of `counterfoil drill --json`."""

    data: Mapping[str, Any]

    @property
    def cases(self) -> list[dict[str, Any]]:
        """Every CASE, in the order of the report."""
        return list(self.data["cases"])

    @property
    def summary(self) -> Mapping[str, Any]:
        """{cases, passed, failed, not_applicable, not_run, seconds}."""
        return self.data["summary"]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The cases that failed."""
        return [case for case in self.cases if case["verdict"] not in OUTCOMES]

    def passes(self) -> None:
        """Fail the test when a case failed, or when nothing passed."""
        __tracebackhide__ = True
        if self.failed:
            failed = "\n".join(case["case_id"] for case in self.failed)
            pytest.fail(f"{len(self.failed)} of {self.summary['cases']} cases failed:\n{failed}", pytrace=False)
        if not self.summary["passed"]:
            pytest.fail("No case was played, so nothing is shown.", pytrace=False)

    def html(self, path: str | Path) -> None:
        """Write the report as one page. OSError where it cannot be written."""
        from counterfoil.drills.html import page

        Path(path).write_text(page(self.data))

    def junit(self, path: str | Path) -> None:
        """Write the report as JUnit XML. OSError where it cannot be written."""
        from counterfoil.drills.junit import document

        Path(path).write_text(document(self.data))


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", MARKER)


class Counted:
    """Nobody collected a case, so it is counted when its report comes by: here, or where xdist brings it together."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Before the terminal counts how far it is."""
        if getattr(report, "is_drill", False):
            self._session.testscollected += 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Count the cases of this session."""
    session.config.pluginmanager.register(Counted(session))


@pytest.fixture
def drill(request: pytest.FixtureRequest) -> Drilled:
    """The drill that the test's marker names, played. A CASE that failed has failed the run, whatever the test says."""
    marker = request.node.get_closest_marker("drill")
    if marker is None or len(marker.args) != 1:
        raise pytest.UsageError(TARGET)
    from counterfoil.drills.told import Telling  # only now: it brings the whole engine

    telling = Telling.of(str(marker.args[0]), **marker.kwargs)
    for case in telling.cases():
        request.node.ihook.pytest_runtest_logreport(report=report_of(request.node, case))
    return Drilled(telling.report)


def report_of(item: pytest.Item, case: Mapping[str, Any]) -> pytest.TestReport:
    """A case as a result of its own, below the test that drills."""
    outcome: Any = OUTCOMES.get(case["verdict"], "failed")
    reasons = "\n".join(str(reason) for reason in case["reasons"])
    path, line, name = item.location
    longrepr: Any = None
    if outcome == "skipped":
        longrepr = (path, (line or 0) + 1, f"{case['verdict'].replace('_', ' ')}: {reasons}")
    elif outcome == "failed":
        longrepr = f"{case['case_id']}\n{reasons}\n\nThis command repeats it:\n{case['repeat']}"
    return pytest.TestReport(
        nodeid=f"{item.nodeid}[{case['case_id']}]",
        location=(path, line, f"{name}[{case['case_id']}]"),
        keywords={"drill": 1},
        outcome=outcome,
        longrepr=longrepr,
        when="call",
        duration=case["seconds"],
        is_drill=True,
    )
