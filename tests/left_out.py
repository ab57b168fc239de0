"""A test that is left out is reported by name with what is missing. In CI it has failed: everything can be installed there."""

import os
from collections.abc import Mapping

import pytest


def in_ci(environ: Mapping[str, str] | None = None) -> bool:
    """As build servers say it: CI=true."""
    return (os.environ if environ is None else environ).get("CI", "").lower() in ("1", "true")


def failed_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """What was left out, as a failure that names it. What is expected to fail is none of that."""
    if report.outcome == "skipped" and not hasattr(report, "wasxfail") and in_ci():
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"not run: {report.nodeid}: {said.removeprefix('Skipped: ')}"
