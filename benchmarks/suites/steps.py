"""Durable steps a second at 1, 16 and 256 concurrent runs, in one process and in as many as there are cores, beside the plain loop."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.counting import per_step
from benchmarks.figures import FLOOR, Ratio, Row, Suite, alternating, between, row
from benchmarks.floor import PlainLoop
from benchmarks.machine import cores
from benchmarks.plan import Plan
from benchmarks.processes import processes
from benchmarks.workload import STEPS, Length, count_of, in_loop, opened, steps_app, submit
from counterfoil.app import App
from counterfoil.model.run import RunState

RUNS = {1: 60, 16: 320, 256: 3072}  # so long that what starts and what ends does not weigh
TARGETS = {1: 0.5, 16: 3.0, 256: 5.0}
MOST = 256  # runs at once that are divided among several processes
PROCESSES_TARGET = 2.0
FLOOR_STEPS = 800


def steps(plan: Plan) -> Suite:
    """Steps a second, claiming and finishing the runs included."""
    rows: list[Row] = []
    ratios: list[Ratio] = []
    floor_rates: list[float] = []
    for concurrency, target in TARGETS.items():
        ours, floor, several = _rates(plan, concurrency)
        cost = per_step(concurrency, steps=plan.sized(40, least=4))
        rows.append(row("steps", "steps", "1/s", ours, concurrency=concurrency, cost=cost))
        ratios.append(Ratio(f"steps_{concurrency}_to_plain_loop", between(ours, floor), target))
        if several:
            rows.append(row("steps", f"steps_in_{cores()}_processes", "1/s", several, concurrency=concurrency))
            ratios.append(
                Ratio(f"steps_{concurrency}_processes_to_plain_loop", between(several, floor), PROCESSES_TARGET)
            )
        floor_rates += floor
    return Suite([row("steps", "steps", "1/s", floor_rates, system=FLOOR), *rows], ratios)


def _rates(plan: Plan, concurrency: int) -> list[list[float]]:
    """Of each round: one process, the plain loop, and as many processes as cores where runs are divided among them."""
    runs = plan.sized(RUNS[concurrency], least=min(concurrency, 16))
    with plan.folder() as folder, opened(steps_app(), folder) as app:
        plain = PlainLoop(folder / "plain")

        def floor(number: int) -> float:
            del number
            count = plan.sized(FLOOR_STEPS, least=50)
            return count / plain.steps(count)

        one = _in_processes(app, folder, runs, 1, concurrency)
        several = _in_processes(app, folder, runs, cores(), max(1, concurrency // cores()))
        try:
            if concurrency == MOST:
                return alternating(plan.rounds, one, floor, several)
            return [*alternating(plan.rounds, one, floor), []]
        finally:
            plain.close()


def _in_processes(app: App, folder: Path, runs: int, count: int, concurrency: int) -> Callable[[int], float]:
    def rate(number: int) -> float:
        with processes(folder, count, concurrency) as ready:
            before = count_of(app, RunState.COMPLETED)
            in_loop(submit(app, "reference", runs, Length(steps=STEPS), prefix=f"round-{number}-{count}"))
            seconds = ready.go()
        assert count_of(app, RunState.COMPLETED) == before + runs, "every run ends completed"
        return runs * STEPS / seconds

    return rate
