"""`python -m benchmarks`: our speed beside the plain loop, in one run. Ratios first; see docs/performance.md."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.counting import per_step
from benchmarks.figures import Suite
from benchmarks.machine import described
from benchmarks.observer import observe
from benchmarks.plan import Plan
from benchmarks.suites import SUITES
from benchmarks.tables import into, written


def main(arguments: list[str] | None = None) -> int:
    """Exit 0 when every ratio is met and nothing acknowledged is lost, 1 when not, 2 for a wrong argument."""
    asked = _parser().parse_args(arguments)
    data = _counted() if asked.count else _measured(asked)
    document = {"ok": True, "schema": "benchmarks/1", "data": data, "warnings": []}
    if asked.out is not None:
        asked.out.write_text(json.dumps(document, indent=1) + "\n")
    if asked.into is not None:
        asked.into.write_text(into(asked.into.read_text(), written(data)))
    print(json.dumps(document) if asked.json else written(data))
    if asked.count:
        return 0
    lost = data["observer"]["stored"] < data["observer"]["acknowledged"]
    return int(lost or not all(ratio["met"] for ratio in data["ratios"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--suite", choices=[*SUITES, "all"], default="all")
    parser.add_argument("--peers", default="none", help="names, or none; a peer that cannot be run is named in not_run")
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the full size; less shortens every workload")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the JSON document there too")
    parser.add_argument(
        "--into", type=Path, metavar="FILE", help="put the tables between the marks of a page (docs/performance.md)"
    )
    parser.add_argument("--count", action="store_true", help="only count what a step costs; nothing is timed")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser


def _counted() -> dict[str, Any]:
    return asdict(per_step(1))


def _measured(asked: argparse.Namespace) -> dict[str, Any]:
    plan = Plan(asked.rounds, asked.scale)
    with plan.folder() as folder:
        machine = described(folder)
    found: list[Suite] = []
    for name, suite in SUITES.items():
        if asked.suite in (name, "all"):
            print(f"suite {name}", file=sys.stderr, flush=True)
            found.append(suite(plan))
    peers = [name for name in asked.peers.split(",") if name and name != "none"]
    return {
        "machine": machine,
        "rows": [asdict(row) for suite in found for row in suite.rows],
        "ratios": [asdict(ratio) | {"met": ratio.met} for suite in found for ratio in suite.ratios],
        "observer": observe(plan.sized(3000, least=100)),
        "not_run": [{"system": name, "error": "no harness for this system yet"} for name in peers],
    }


if __name__ == "__main__":
    sys.exit(main())
