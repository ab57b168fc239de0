"""What is measured of a system: steps a second, latency, the claim among many that wait, and progress after a death."""

from collections.abc import Sequence
from statistics import median
from time import perf_counter, sleep, time_ns

import psycopg

from benchmarks.scale.programs.told import STEPS
from benchmarks.scale.systems import Counterfoil, System
from benchmarks.scale.workers import workers

WARM_UP = 16  # runs, before anything is timed
TELLING = {"TELLS": "1"}


def rate(system: System, workers_count: int, runs: int, *, prefix: str) -> float:
    """Steps a second, from the first submission to the end of the last run."""
    with workers(workers_count, system.command, system.environ):
        system.all_done(_names(f"{prefix}-warm", WARM_UP), 2)
        began = perf_counter()
        system.all_done(_names(prefix, runs), STEPS)
        return runs * STEPS / (perf_counter() - began)


def latencies(system: System, workers_count: int, runs: int, *, prefix: str) -> tuple[list[float], list[float]]:
    """Of one run after another, in ms since it was submitted: until its first step began, and until its tenth did."""
    firsts: list[float] = []
    lasts: list[float] = []
    with workers(workers_count, system.command, system.environ | TELLING) as started:
        system.all_done(_names(f"{prefix}-warm", WARM_UP), 2)
        for name in _names(prefix, runs):
            began = time_ns()
            system.submit([name], STEPS)
            firsts.append((started.step(name, 0)[0] - began) / 1e6)
            lasts.append((started.step(name, STEPS - 1)[0] - began) / 1e6)
    return firsts, lasts


def claims(ours: Counterfoil, waiting: Sequence[int], runs: int) -> dict[int, float]:
    """The median of ms from submission to the first step, while so many other runs wait. PostgreSQL only."""
    found: dict[int, float] = {}
    present = 0
    for wanted in waiting:
        fill(ours, wanted - present)
        present = max(present, wanted)
        found[wanted] = median(latencies(ours, 1, runs, prefix=f"claim-{wanted}")[0])
    return found


def fill(ours: Counterfoil, count: int) -> None:
    """So many more waiting runs: copies of one that really waits, without its journal, which no claim reads."""
    if count <= 0:
        return
    one = f"sleeper-{time_ns()}"
    with workers(1, ours.command, ours.environ):
        ours.submit_to("sleeper", [one], 0)
        with psycopg.connect(ours.db, autocommit=True) as connection:
            while not connection.execute(
                "SELECT 1 FROM runs WHERE request_id = %s AND state = 'waiting'", (one,)
            ).fetchone():
                sleep(0.01)
    with psycopg.connect(ours.db, autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE copied AS SELECT * FROM runs WHERE request_id = %s", (one,))
        for first in range(0, count, 50_000):
            least = min(50_000, count - first)
            connection.execute("DROP TABLE IF EXISTS made")
            connection.execute(
                "CREATE TEMP TABLE made AS SELECT c.*, n FROM copied c, generate_series(%s::bigint, %s::bigint) n",
                (first + 1, first + least),
            )
            # Numbers far below nought, where nobody counts on.
            connection.execute(
                "UPDATE made SET run_id = run_id || '-' || n, request_id = request_id || '-' || n,"
                " number = -number * 10000000 - n, due_at = due_at + n"
            )
            connection.execute("ALTER TABLE made DROP COLUMN n")
            connection.execute("INSERT INTO runs SELECT * FROM made")
        connection.execute("ANALYZE runs")


def after_death(system: System, *, prefix: str) -> float:
    """Seconds from SIGKILL of the worker that drives a run until another one begins its next step.

    The run's steps are told as they begin; the killed worker was in the middle of them.
    """
    with workers(2, system.command, system.environ | TELLING) as started:
        system.all_done(_names(f"{prefix}-warm", WARM_UP), 2)
        name, steps = f"{prefix}-long", 1000
        system.submit([name], steps)
        _, driving = started.step(name, 20)
        killed = time_ns()
        started.kill(driving)
        last = 20
        while True:
            at, worker = started.step(name, last + 1)
            last += 1
            if worker != driving:
                return (at - killed) / 1e9


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]
