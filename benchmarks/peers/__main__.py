"""`python -m benchmarks.peers`: the same refund on other engines, under the same faults. See docs/peers.md."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.peers.battery import Row, played
from benchmarks.peers.engines import ENGINES
from benchmarks.peers.environment import pinned, python_of_peers
from benchmarks.peers.faults import FAULTS
from benchmarks.peers.tables import into, written


def main(arguments: list[str] | None = None) -> int:
    """Exit 0 when every case was played, 1 when one was not. It judges nobody."""
    asked = _parser().parse_args(arguments)
    engines = [engine for engine in ENGINES if asked.engine is None or engine.name in asked.engine]
    faults = [fault for fault in FAULTS if asked.fault is None or fault.name in asked.fault]
    if any(not engine.ours for engine in engines):
        python_of_peers()
    cases = [(fault, kind, engine) for fault in faults for kind in fault.kinds for engine in engines]
    rows = played(cases, asked.at_once, _told)
    if asked.into is not None:
        asked.into.write_text(into(asked.into.read_text(), rows))
    document = {
        "versions": pinned(),
        "faults": {f.name: f.sentence for f in faults},
        "rows": [asdict(row) for row in rows],
    }
    print(json.dumps(document, indent=1) if asked.json else written(rows))
    return int(any(row.records is None for row in rows))


def _told(row: Row) -> None:
    said = row.problem or f"{row.records} records, {row.state}, {row.requests} requests"
    print(f"{row.fault} {row.receiver} {row.engine}: {said}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument(
        "--engine", action="append", choices=[engine.name for engine in ENGINES], help="repeatable; else all"
    )
    parser.add_argument(
        "--fault", action="append", choices=[fault.name for fault in FAULTS], help="repeatable; else all"
    )
    parser.add_argument(
        "--at-once", type=int, default=2, choices=range(1, 17), metavar="N", help="cases played at once"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FILE", help="put the tables between the marks of a page (docs/peers.md)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser


if __name__ == "__main__":
    sys.exit(main())
