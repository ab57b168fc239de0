"""Drills the examples whole, and writes docs/drills: the reports as pages, and the figures that docs/drills.md prints.

    python scripts/drill_examples.py [refund|onboarding|support_desk ...] [--jobs N] [--db postgresql://...|own] [--only GLOB]

Each case's ledger is a file, or with `--db` a schema of that server; `own` starts one for it, as the tests do. `--only` plays a part, and
writes nothing. Exit 1 when a case failed. A report says what was seen, so its ids, digests and seconds differ from run to run.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "drills"
FIGURES = KEPT / "figures.json"
EXAMPLES = {
    "refund": "counterfoil.examples.refund.app:refund",
    "onboarding": "counterfoil.examples.onboarding.app:onboard",
    "support_desk": "counterfoil.examples.support_desk.app:support",
}
SEED = 1
SHOWN = ("name", "case_id", "verdict", "outcome", "attempts", "receipts", "approval_bound", "seconds")


def drilled(name: str, jobs: int, *options: str) -> dict[str, Any]:
    """The report of one example. SystemExit where the drill itself could not be done."""
    command = [sys.executable, "-m", "counterfoil", "drill", EXAMPLES[name], "--json", "--seed", str(SEED)]
    command += ["--jobs", str(jobs), *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: the drill ended with status {done.returncode}: {done.stdout.decode()}")
    report: dict[str, Any] = json.loads(done.stdout)["data"]
    if report["kept"] is not None:  # ledgers of unresolved cases: the page names no path of this machine
        shutil.rmtree(report["kept"], ignore_errors=True)
    return report


@contextmanager
def server_of(given: str | None) -> Iterator[tuple[str, ...]]:
    """The options that name where the cases' ledgers lie."""
    if given != "own":
        yield () if given is None else ("--db", given)
        return
    sys.path.insert(0, str(ROOT))
    from tests.servers.postgres import running

    with running() as server, server.database() as url:
        yield ("--db", url)


def name_of(example: str, backend: str) -> str:
    """Under which a report is kept: those on a server beside those on files."""
    return example if backend == "sqlite" else f"{example}-{backend}"


def figures_of(report: dict[str, Any], named_alone: dict[str, Any], jobs: int) -> dict[str, Any]:
    """What the page prints of a report, and of the named drills played by themselves."""
    named = [
        {field: case[field] for field in SHOWN} | {"records": case["receiver"]["records"]}
        for case in report["cases"]
        if case["name"] is not None
    ]
    summaries = {"named drills": named_alone["summary"], "whole matrix": report["summary"]}
    found = {"target": report["target"], "backend": report["backend"], "jobs": jobs}
    return found | {"summaries": summaries, "named": named}


def main() -> int:
    parser = argparse.ArgumentParser(description="Drill the examples and write their reports.")
    parser.add_argument("names", nargs="*", metavar="EXAMPLE", help=", ".join(EXAMPLES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--db", metavar="URL|own", help="A PostgreSQL instead of files.")
    parser.add_argument("--only", metavar="GLOB", help="Play these cases, and write nothing.")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(EXAMPLES):
        parser.error(f"no such example: {', '.join(sorted(unknown))}")
    with server_of(chosen.db) as where:
        names = chosen.names or list(EXAMPLES)
        failed = sum(played(name, chosen.jobs, where, chosen.only) for name in names)
    return 1 if failed else 0


def played(example: str, jobs: int, where: tuple[str, ...], only: str | None) -> int:
    """How many cases of one example failed. Its report and figures are kept, unless only a part was asked for."""
    if only is not None:
        part = drilled(example, jobs, *where, "--only", only)
        print(f"{example}, {only}, {part['backend']}: {part['summary']}", flush=True)
        return int(part["summary"]["failed"])
    alone = drilled(example, jobs, *where, "--only", "named")
    name = name_of(example, alone["backend"])
    print(f"{name}, named: {alone['summary']}", flush=True)
    report = drilled(example, jobs, *where, "--html", str(KEPT / f"{name}.html"))
    print(f"{name}: {report['summary']}", flush=True)
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[name] = figures_of(report, alone, jobs)
    order = [name_of(each, backend) for backend in ("sqlite", "postgres") for each in EXAMPLES]
    FIGURES.write_text(json.dumps({each: figures[each] for each in order if each in figures}, indent=1) + "\n")
    return int(alone["summary"]["failed"] + report["summary"]["failed"])


if __name__ == "__main__":
    sys.exit(main())
