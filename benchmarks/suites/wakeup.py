"""From the commit of a review's answer to the next line of user code, in one process."""

import asyncio
from collections.abc import Container, Sequence
from time import perf_counter

from benchmarks.figures import Ratio, Suite, row
from benchmarks.plan import Plan
from benchmarks.workload import PERSON, SECRET, Length, in_loop, submit
from benchmarks.writing import writing_app
from counterfoil.app import App


def wakeup(plan: Plan) -> Suite:
    """Milliseconds; the next line is the first of the approved operation."""
    times = plan.sized(40, least=3)
    answered: list[float] = []
    reached: list[float] = []

    def passed(when: str, names: Sequence[str]) -> None:
        if when == "after" and "review.answered" in names:
            answered.append(perf_counter())

    with (
        plan.folder() as folder,
        writing_app(folder, reviewed=True, called=lambda: reached.append(perf_counter())) as app,
    ):
        app.boundaries.observers.append(passed)
        in_loop(_approve_each(app, times))
    assert len(answered) == len(reached) == times, "each answer wakes one run"
    took = [1000 * (there - here) for here, there in zip(answered, reached, strict=True)]
    made = row("wakeup", "answer_to_next_line", "ms", took)
    return Suite([made], [Ratio("wakeup_ms_at_most", made.median, 2.0)])


async def _approve_each(app: App, times: int) -> None:
    async with app.worker():
        for number in range(times):
            (run_id,) = await submit(app, "writing", 1, Length(steps=1), prefix=f"wakeup-{number}")
            await _until(app, run_id, "waiting")
            with app.open().read() as reader:
                (review,) = reader.open_reviews()
            await app.reviews.approve(review.review_id, digest=review.digest, by=PERSON, secret=SECRET)
            await _until(app, run_id, "completed")


async def _until(app: App, run_id: str, state: str) -> None:
    """Wait for the commit after which the run is in a state."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def committed(run_ids: Container[str]) -> None:
        if run_id in run_ids:
            loop.call_soon_threadsafe(changed.set)

    app.open().listeners.add(committed)
    try:
        while app.runs.show(run_id)["state"] != state:
            await changed.wait()
            changed.clear()
    finally:
        app.open().listeners.discard(committed)
