"""Drills in a user's own pytest: a marked test drills its workflow when it runs, and each case is a result of its own.

    @pytest.mark.drill("shop:buy")
    def test_an_order_survives(drill):
        drill.passes()

Nothing but pytest is imported before a marked test runs: a run without one pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MARKER = (
    "drill(target, only=None, seed=0, players=2, receiver=None, receiver_url=None): play the failures of MODULE:WORKFLOW; "
    "as `counterfoil drill` has them; players: how many cases are played at once"
)
TARGET = "@pytest.mark.drill(MODULE:WORKFLOW) says what the fixture `drill` drills"
CASE = "drill_case"  # on a report: the id of the case that it is about
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """One case again."""
    group = parser.getgroup("counterfoil")
    group.addoption("--drill-only", metavar="GLOB", help="Of marked drills, play the cases whose id or name fits.")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line("markers", MARKER)


class Told:
    """Where reports come together, also those of xdist's workers: a case gets its own name there, and is counted.

    A worker may only speak of what it collected, and nobody collected a case.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Before anybody looks at it."""
        case_id: str | None = getattr(report, CASE, None)
        if case_id is not None:
            path, line, name = report.location
            report.nodeid, report.location = f"{report.nodeid}[{case_id}]", (path, line, f"{name}[{case_id}]")
            self._session.testscollected += 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Name and count the cases of this session."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Told(session))


@pytest.fixture
def drill(request: pytest.FixtureRequest) -> Drilled:
    """The drill that the test's marker names, played. A CASE that failed has failed the run, whatever the test says."""
    marker = request.node.get_closest_marker("drill")
    if marker is None or len(marker.args) != 1:
        raise pytest.UsageError(TARGET)
    from counterfoil.drills.told import Telling  # only now: it brings the whole engine

    only = request.config.getoption("drill_only")
    telling = Telling.of(str(marker.args[0]), **marker.kwargs | ({} if only is None else {"only": only}))
    capturing: Any = request.config.pluginmanager.getplugin("capturemanager")
    for case in telling.cases():
        with nullcontext() if capturing is None else capturing.global_and_fixture_disabled():
            request.node.ihook.pytest_runtest_logreport(report=report_of(request.node, case))
    return Drilled(telling.report)


def report_of(item: pytest.Item, case: Mapping[str, Any]) -> pytest.TestReport:
    """A case as a result of its own, named after the test that drills and then (Told) after itself."""
    outcome: Any = OUTCOMES.get(case["verdict"], "failed")
    reasons = "\n".join(str(reason) for reason in case["reasons"])
    path, line, _ = item.location
    longrepr: Any = None
    if outcome == "skipped":
        longrepr = (path, (line or 0) + 1, f"{case['verdict'].replace('_', ' ')}: {reasons}")
    elif outcome == "failed":
        longrepr = f"{case['case_id']}\n{reasons}\n\nThis command repeats it:\n{case['repeat']}"
    told: dict[str, Any] = {CASE: case["case_id"]}
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={"drill": 1},
        outcome=outcome,
        longrepr=longrepr,
        when="call",
        duration=case["seconds"],
        **told,
    )
