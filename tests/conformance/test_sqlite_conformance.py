"""SQLite does everything that a backend must do."""

from pathlib import Path

import pytest

from counterfoil.store.port import Database, Hooks
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.conformance import Case, cases, run_conformance
from counterfoil.testing.conformance.bench import SetClock


def make(location: Path, clock: SetClock, hooks: Hooks) -> Database:
    return SqliteDatabase(location / "ledger.db", clock, create=True, hooks=hooks)


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.area}-{case.name}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.run(make, tmp_path)


def test_every_case_says_what_it_is_for_and_names_are_unique() -> None:
    found = cases()
    assert all(case.says.endswith(".") for case in found)
    assert len({(case.area, case.name) for case in found}) == len(found)


def test_a_backend_that_fails_is_reported_case_by_case() -> None:
    def broken(location: Path, clock: SetClock, hooks: Hooks) -> Database:
        raise OSError("no such server")

    report = run_conformance(broken)
    assert (report.collected, report.passed, report.failed) == (len(cases()), 0, len(cases()))
    assert report.skipped == 0
    assert sum(count.collected for count in report.by_area.values()) == report.collected
    assert "no such server" in report.failures["rows.a_run_comes_back_equal"]
