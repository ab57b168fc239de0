"""An operation without a review: its commits, its flushes of the outside marker, and its rate."""

from benchmarks.figures import Ratio, Suite, row
from benchmarks.plan import Plan
from benchmarks.workload import drive_runs, in_loop
from benchmarks.writing import writing_app
from counterfoil.app import App
from counterfoil.engine.boundaries import COMMIT, FLUSH


def operation(plan: Plan) -> Suite:
    """What each further operation of a run costs; and operations a second, the receiver's time included."""
    each = plan.sized(20, least=2)
    with plan.folder() as folder, writing_app(folder) as app:
        short, _ = _hits(app, 1, "short")
        long, seconds = _hits(app, 1 + each, "long")
        commits, flushes = ((after - before) / each for before, after in zip(short, long, strict=True))
        rates = [(1 + each) / seconds]
        for number in range(1, plan.rounds):
            rates.append((1 + each) / _hits(app, 1 + each, f"long-{number}")[1])
    return Suite(
        [
            row("operation", "commits", "1/operation", [commits]),
            row("operation", "marker_flushes", "1/operation", [flushes]),
            row("operation", "operations", "1/s", rates),
        ],
        [
            Ratio("operation_commits_at_most", commits, 3.0),
            Ratio("operation_marker_flushes_at_most", flushes, 1.0),
        ],
    )


def _hits(app: App, operations: int, prefix: str) -> tuple[tuple[int, int], float]:
    before = app.boundaries.hits.copy()
    seconds = in_loop(drive_runs(app, "writing", 1, operations, prefix=prefix))
    after = app.boundaries.hits
    return (after[COMMIT] - before[COMMIT], after[FLUSH] - before[FLUSH]), seconds
