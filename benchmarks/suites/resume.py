"""Resuming a long run: the time of a replay against the number of its steps."""

import asyncio
from time import perf_counter

from benchmarks.figures import Ratio, Row, Suite, row
from benchmarks.plan import Plan
from benchmarks.workload import BUDGET, Length, drive, in_loop, opened, submit, work
from counterfoil.app import App
from counterfoil.engine.port import Run

FULL = 2000


def resume(plan: Plan) -> Suite:
    """Seconds from the start of a worker to the first new step of a run of n steps, at n and at a quarter of it."""
    rows: list[Row] = []
    medians: list[float] = []
    lengths = [plan.sized(FULL // 4, least=10), plan.sized(FULL, least=40)]
    for length in lengths:
        seconds = [_resumed(plan, length) for _ in range(plan.rounds)]
        rows.append(row("resume", f"replay_{length}_steps", "s", seconds))
        medians.append(min(seconds))
    growth = medians[1] / medians[0] / (lengths[1] / lengths[0])
    ratios = [
        Ratio(f"resume_{lengths[1]}_steps_s_at_most", rows[1].median, 0.2),
        Ratio("resume_growth_per_step_at_most", growth, 1.5),
    ]
    return Suite(rows, ratios)


def _resumed(plan: Plan, length: int) -> float:
    """The run is stopped after its `length`-th step, and taken up by another worker in a newly opened application."""
    with plan.folder() as folder:
        stop, reached = asyncio.Event(), [0.0]
        with opened(_app(length, stop, reached), folder) as app:
            in_loop(_until_stopped(app, length, stop))
        with opened(_app(length, asyncio.Event(), reached), folder) as app:
            began = perf_counter()
            in_loop(drive(app))
            return reached[0] - began


async def _until_stopped(app: App, length: int, stop: asyncio.Event) -> None:
    await submit(app, "long", 1, Length(steps=length + 1), prefix="resume")
    worker = app.new_worker()
    part = asyncio.create_task(worker.run())
    await stop.wait()
    worker.stop()
    await part


def _app(length: int, stop: asyncio.Event, reached: list[float]) -> App:
    app = App("benchmarks")

    async def long(run: Run, wanted: Length) -> int:
        for number in range(wanted.steps):
            if number == length:
                reached[0] = perf_counter()
                stop.set()
            await run.step(work, number)
        return wanted.steps

    app.workflow(version=1, budget=BUDGET)(long)
    return app
