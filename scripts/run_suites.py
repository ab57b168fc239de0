"""Runs every suite in tests/, one pytest process each, and prints seconds per suite and the slowest twenty tests.

    python scripts/run_suites.py [SUITE ...]     default: all that exist, in the order below

The last line is `N passed, N failed, N skipped`. Exit 1 if anything failed, or if no test ran.
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
REPORTS = ROOT / ".build" / "reports"

# Cheap suites first, so that a plain mistake shows early. Folders that are not named here come last.
ORDER = (
    "architecture",
    "unit",
    "conformance",
    "migration",
    "simulation",
    "exploration",
    "replay",
    "traps",
    "crash",
    "drills",
    "receivers",
    "edges",
    "browser",
    "docs",
    "examples",
)

# What one suite needs beyond the others.
EXTRA = {
    # Every branch of what decides about sending is tested; pyproject.toml holds the limit.
    "unit": ["-n2", "--cov=counterfoil.model", "--cov=counterfoil.rules", "--cov-report=term"],
    # Children that are killed and waited for: the machine idles, two at a time cost nothing.
    "crash": ["-n2", "--dist=worksteal"],
    # A fork server and its receivers for each module, so a module stays in one process.
    "drills": ["-n2", "--dist=loadfile"],
    "simulation": ["-n2"],
    "exploration": ["-n2"],
    # Stories that wait for processes and receivers: what a module sets up for all its tests is set up once.
    "edges": ["-n2", "--dist=loadfile"],
    "engine": ["-n2", "--dist=loadfile"],
    # A server that none of us wrote for each module, so a module stays in one process.
    "receivers": ["-n2", "--dist=loadfile"],
    # A served installation for each module, so a module stays in one process.
    "browser": ["-n2", "--dist=loadfile"],
}

# A browser or another's server may be slow once on a busy machine: at most so many tests of such a suite are run again, alone,
# and are told of by name. What fails twice is wrong. Suites about what was written and sent have no second try.
SECOND_TRIES = {"browser": 2, "edges": 2}

SLOWEST = 20


@dataclass
class Outcome:
    """One suite: how many tests ended how, and how long each took."""

    suite: str
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    again: list[str] = field(default_factory=list[str])  # failed at first, passed alone
    tests: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])


def suites(wanted: list[str]) -> list[str]:
    found = {folder.name for folder in TESTS.iterdir() if any(folder.glob("**/test_*.py"))} - {"servers"}
    known = [name for name in ORDER if name in found]
    every = known + sorted(found - set(known))
    if unknown := [name for name in wanted if name not in every]:
        sys.exit(f"No such suite: {', '.join(unknown)}. There are: {', '.join(every)}.")
    return [name for name in every if not wanted or name in wanted]


def run(suite: str) -> Outcome:
    report = REPORTS / f"{suite}.xml"
    began = time.monotonic()
    status = tested(suite, report, EXTRA.get(suite, []))
    outcome = Outcome(suite, 0)
    if report.exists():
        outcome.again = count(report, outcome)
    if status == 1 and 0 < outcome.failed <= SECOND_TRIES.get(suite, 0):
        print(f"suite {suite}: run again, alone: {', '.join(outcome.again)}", flush=True)
        second = REPORTS / f"{suite}-again.xml"
        if tested(suite, second, ["--last-failed", "--last-failed-no-failures=none"]) == 0:
            once_more = Outcome(suite, 0)
            count(second, once_more)
            if once_more.passed == outcome.failed:
                status, outcome.failed, outcome.passed = 0, 0, outcome.passed + once_more.passed
    if outcome.failed:
        outcome.again = []
    outcome.seconds = time.monotonic() - began
    # A status that no failed test explains: a crash, a missing branch, a suite that collected nothing.
    if status and not outcome.failed:
        outcome.failed = 1
        print(f"suite {suite}: pytest ended with status {status}", flush=True)
    return outcome


def tested(suite: str, report: Path, extra: list[str]) -> int:
    """The status of pytest, which writes the report."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"tests/{suite}", f"--junit-xml={report}"]
    command += ["-o", f"cache_dir=.build/pytest-{suite}", *extra]
    # A coverage file of its own, so that two runs in one tree do not mix.
    environment = os.environ | {"COVERAGE_FILE": str(REPORTS / f"{suite}.coverage")}
    return subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


def count(report: Path, outcome: Outcome) -> list[str]:
    """Counts into the outcome. Gives the names of what failed."""
    wrong: list[str] = []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome.tests.append((float(case.get("time", "0")), name))
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
            wrong.append(name)
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1
    return wrong


def main() -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for suite in suites(sys.argv[1:]):
        print(f"\n=== {suite}", flush=True)
        outcomes.append(run(suite))

    print("\nseconds per suite")
    for o in outcomes:
        print(f"  {o.seconds:8.1f}  {o.suite:<14} {o.passed} ok, {o.failed} wrong, {o.skipped} left out")
    print(f"  {sum(o.seconds for o in outcomes):8.1f}  all")

    if again := [name for o in outcomes for name in o.again]:
        print("\npassed at the second try only: mend what they wait for")
        for name in again:
            print(f"  {name}")

    print(f"\nthe slowest {SLOWEST} tests")
    for seconds, name in sorted((t for o in outcomes for t in o.tests), reverse=True)[:SLOWEST]:
        print(f"  {seconds:8.2f}  {name}")

    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    print(f"\n{passed} passed, {failed} failed, {sum(o.skipped for o in outcomes)} skipped", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
