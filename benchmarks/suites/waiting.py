"""Many waiting runs: what they keep in memory, and how soon all are known again after a restart."""

import gc
from datetime import timedelta
from time import perf_counter

from benchmarks.figures import Ratio, Suite, row
from benchmarks.machine import resident_bytes
from benchmarks.plan import Plan
from benchmarks.workload import BUDGET, Length, count_of, drive, in_loop, opened, submit
from counterfoil.app import App
from counterfoil.engine.port import Run
from counterfoil.model.run import RunState

FULL = 10_000


def waiting(plan: Plan) -> Suite:
    """Memory after a tenth of the runs wait and after all do; seconds until a newly opened worker knows all of them."""
    runs = plan.sized(FULL, least=40)
    with plan.folder() as folder:
        with opened(_app(), folder) as app:
            in_loop(_wait(app, runs // 10, "first"))
            few = _resident_now()
            in_loop(_wait(app, runs - runs // 10, "rest"))
            many = _resident_now()
        seconds = []
        for _ in range(plan.rounds):
            began = perf_counter()
            with opened(_app(), folder) as app:
                assert count_of(app, RunState.WAITING) == runs, "every run waits"
                in_loop(drive(app))
                seconds.append(perf_counter() - began)
    kept = max(0, many - few) / (runs - runs // 10)
    rows = [
        row("waiting", f"memory_per_waiting_run_of_{runs}", "bytes", [kept]),
        row("waiting", f"restart_with_{runs}_waiting", "s", seconds),
    ]
    ratios = [
        Ratio("waiting_memory_bytes_per_run_at_most", kept, 1024.0),
        Ratio("waiting_restart_s_at_most", rows[1].median, 2.0),
    ]
    return Suite(rows, ratios)


def _resident_now() -> int:
    gc.collect()
    return resident_bytes()


async def _wait(app: App, runs: int, prefix: str) -> None:
    for number in range(0, runs, 500):
        await submit(app, "sleeper", min(500, runs - number), Length(steps=0), prefix=f"{prefix}-{number}")
        await drive(app)


def _app() -> App:
    app = App("benchmarks")

    async def sleeper(run: Run, length: Length) -> int:
        await run.sleep(timedelta(days=1))
        return length.steps

    app.workflow(version=1, budget=BUDGET)(sleeper)
    return app
