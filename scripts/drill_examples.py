"""Drills the examples whole, and writes docs/drills: the reports as pages, and the figures that docs/drills.md prints.

    python scripts/drill_examples.py [refund|onboarding|support_desk ...] [--jobs N]

Exit 1 when a case failed. A report says what was seen, so its ids, digests and seconds differ from run to run.
"""

import argparse
import json
import shutil
import subprocess
import sys
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


def figures_of(report: dict[str, Any], named_alone: dict[str, Any], jobs: int) -> dict[str, Any]:
    """What the page prints of a report, and of the named drills played by themselves."""
    named = [
        {field: case[field] for field in SHOWN} | {"records": case["receiver"]["records"]}
        for case in report["cases"]
        if case["name"] is not None
    ]
    summaries = {"named drills": named_alone["summary"], "whole matrix": report["summary"]}
    return {"target": report["target"], "jobs": jobs, "summaries": summaries, "named": named}


def main() -> int:
    parser = argparse.ArgumentParser(description="Drill the examples and write their reports.")
    parser.add_argument("names", nargs="*", metavar="EXAMPLE", help=", ".join(EXAMPLES))
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(EXAMPLES):
        parser.error(f"no such example: {', '.join(sorted(unknown))}")
    figures: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    failed = 0
    for name in chosen.names or EXAMPLES:
        alone = drilled(name, chosen.jobs, "--only", "named")
        print(f"{name}, named: {alone['summary']}", flush=True)
        report = drilled(name, chosen.jobs, "--html", str(KEPT / f"{name}.html"))
        figures[name] = figures_of(report, alone, chosen.jobs)
        failed += alone["summary"]["failed"] + report["summary"]["failed"]
        print(f"{name}: {report['summary']}", flush=True)
        FIGURES.write_text(json.dumps({name: figures[name] for name in EXAMPLES if name in figures}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
