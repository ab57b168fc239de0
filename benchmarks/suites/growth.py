"""Growth: bytes and seconds of a run of n steps against n."""

from benchmarks.counting import stored_bytes
from benchmarks.figures import Ratio, Row, Suite, row
from benchmarks.plan import Plan
from benchmarks.workload import drive_runs, in_loop, opened, steps_app

LENGTHS = (250, 500, 1000, 2000)


def growth(plan: Plan) -> Suite:
    """Bytes a step and seconds a step; linear growth leaves both as they are."""
    rows: list[Row] = []
    per_step: list[float] = []
    took: list[float] = []
    for full in LENGTHS:
        length = plan.sized(full, least=full // 25)
        with plan.folder() as folder, opened(steps_app(), folder) as app:
            before = stored_bytes(folder)
            seconds = in_loop(drive_runs(app, "reference", 1, length, prefix="growth"))
            per_step.append((stored_bytes(folder) - before) / length)
            took.append(seconds / length)
        rows.append(row("growth", f"bytes_per_step_of_{length}", "bytes", [per_step[-1]]))
        rows.append(row("growth", f"seconds_per_step_of_{length}", "s", [took[-1]]))
    ratios = [
        Ratio("growth_bytes_per_step_at_most", per_step[-1] / per_step[0], 1.2),
        Ratio("growth_seconds_per_step_at_most", took[-1] / took[0], 2.0),
    ]
    return Suite(rows, ratios)
