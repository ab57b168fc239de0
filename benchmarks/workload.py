"""The reference workload: runs of ten steps with 200-byte results, each step durable before the next."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from time import perf_counter

from pydantic import BaseModel

from counterfoil import App, Budget, Run
from counterfoil.app.opening import Founding
from counterfoil.engine.administration import NewPerson
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader

STEPS = 10
RESULT_BYTES = 200
CONCURRENCY = (1, 16, 256)
RESULT = "r" * RESULT_BYTES


class Length(BaseModel):
    """How many steps a run takes."""

    steps: int


def budget() -> Budget:
    return Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=0, owner="anybody")


async def work(number: int) -> str:
    """A step that costs nothing but its record."""
    del number
    return RESULT


def steps_app(told: Callable[[str, int], None] | None = None) -> App:
    """An application with the one workflow `reference`. `told` hears of each acknowledged step: (run, number)."""
    app = App("benchmarks")

    async def reference(run: Run, length: Length) -> int:
        for number in range(length.steps):
            await run.step(work, number)
            if told is not None:
                told(run.id, number)
        return length.steps

    app.workflow(version=1, budget=budget())(reference)
    return app


@contextmanager
def opened(app: App, folder: Path, *, concurrency: int = 256) -> Iterator[App]:
    """The application over a new or existing database in `folder`, with one person who may be asked."""
    os.environ["COUNTERFOIL_STATE"] = str(folder / "state")
    os.environ["COUNTERFOIL_CONCURRENCY"] = str(concurrency)
    folder.mkdir(parents=True, exist_ok=True)
    app.db = str(folder / "bench.db")
    app.open(Founding(people=(NewPerson("anybody", ("anybody",), "unused"),)))
    try:
        yield app
    finally:
        app.close()


def workflow(app: App, name: str):
    return app.registry.newest(name)


async def submit(app: App, name: str, count: int, input: BaseModel, *, prefix: str = "request") -> list[str]:
    """Submit `count` runs at once. Gives their ids."""
    asked = (app.submit(workflow(app, name), input, request_id=f"{prefix}-{number}") for number in range(count))
    return [submitted.run_id for submitted in await asyncio.gather(*asked)]


async def drive(app: App) -> float:
    """Drive everything that is due until nothing is. Gives the seconds."""
    worker = app.new_worker()
    began = perf_counter()
    await worker.run(until_idle=True)
    seconds = perf_counter() - began
    if worker.problems:
        raise worker.problems[0]
    return seconds


def completed(app: App) -> int:
    with app.open().read() as reader:
        return sum(run.state is RunState.COMPLETED for run in _runs(reader))


def _runs(reader: Reader):

    return reader.rows(RunRecord)


async def reference_runs(app: App, *, concurrency: int, runs: int, steps: int = STEPS, prefix: str = "request") -> float:
    """`runs` runs, at most `concurrency` at once. Gives steps per second, submission left out."""
    before = completed(app)
    await submit(app, "reference", runs, Length(steps=steps), prefix=prefix)
    seconds = await drive(app)
    assert completed(app) == before + runs, "every run ends completed"
    return runs * steps / seconds
