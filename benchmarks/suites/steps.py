"""Durable steps a second at 1, 16 and 256 concurrent runs, beside the plain loop."""

from benchmarks.counting import per_step
from benchmarks.figures import FLOOR, Ratio, Row, Suite, alternating, between, row
from benchmarks.floor import PlainLoop
from benchmarks.plan import Plan
from benchmarks.workload import STEPS, drive_runs, in_loop, opened, steps_app

RUNS = {1: 30, 16: 160, 256: 768}
TARGETS = {1: 0.5, 16: 3.0, 256: 5.0}
FLOOR_STEPS = 800


def steps(plan: Plan) -> Suite:
    """Steps a second, claiming and finishing the runs included."""
    rows: list[Row] = []
    ratios: list[Ratio] = []
    floor_rates: list[float] = []
    for concurrency, target in TARGETS.items():
        ours, floor = _rates(plan, concurrency)
        cost = per_step(concurrency, steps=plan.sized(40, least=4))
        rows.append(row("steps", "steps", "1/s", ours, concurrency=concurrency, cost=cost))
        ratios.append(Ratio(f"steps_{concurrency}_to_plain_loop", between(ours, floor), target))
        floor_rates += floor
    return Suite([row("steps", "steps", "1/s", floor_rates, system=FLOOR), *rows], ratios)


def _rates(plan: Plan, concurrency: int) -> tuple[list[float], list[float]]:
    runs = plan.sized(RUNS[concurrency], least=min(concurrency, 16))
    with plan.folder() as folder, opened(steps_app(), folder, concurrency=concurrency) as app:
        plain = PlainLoop(folder / "plain")

        def ours(number: int) -> float:
            seconds = in_loop(drive_runs(app, "reference", runs, STEPS, prefix=f"round-{number}"))
            return runs * STEPS / seconds

        def floor(number: int) -> float:
            del number
            count = plan.sized(FLOOR_STEPS, least=50)
            return count / plain.steps(count)

        try:
            return tuple(alternating(plan.rounds, ours, floor))  # type: ignore[return-value]
        finally:
            plain.close()
