"""The reference workload: runs of ten steps with 200-byte results, each step durable before the next."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.run import RunState

STEPS = 10
RESULT = "r" * 200
PERSON, SECRET = "ana", "bench"
BUDGET = Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=1, owner=PERSON)


class Length(BaseModel):
    """How many steps, or operations, a run takes."""

    steps: int


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

    app.workflow(version=1, budget=BUDGET)(reference)
    return app


@contextmanager
def opened(app: App, folder: Path, *, concurrency: int = 256) -> Iterator[App]:
    """The application over the database in `folder`, made if it is not there. Its one person is PERSON."""
    os.environ["COUNTERFOIL_STATE"] = str(folder / "state")
    os.environ["COUNTERFOIL_CONCURRENCY"] = str(concurrency)
    database = folder / "db" / "bench.db"
    database.parent.mkdir(parents=True, exist_ok=True)
    app.db = str(database)
    person = NewPerson(PERSON, (PERSON,), hashed(SECRET, "00"))
    app.open(None if database.exists() else Founding(people=(person,)))
    try:
        yield app
    finally:
        app.close()


async def submit(app: App, name: str, count: int, input: BaseModel, *, prefix: str) -> list[str]:
    """Submit `count` runs at once. Gives their ids."""
    asked = (app.submit(app.registry.newest(name), input, request_id=f"{prefix}-{number}") for number in range(count))
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


def count_of(app: App, state: RunState) -> int:
    """How many runs are in a state, from the list that people see."""
    counted, before = 0, None
    with app.open().read() as reader:
        while True:
            page = reader.lists.runs(state=state.value, before=before, limit=1000)
            counted, before = counted + len(page.items), page.next_cursor
            if before is None:
                return counted


async def drive_runs(app: App, name: str, count: int, length: int, *, prefix: str) -> float:
    """Submit `count` runs of `length`, then drive them to their end. Gives the seconds of the driving."""
    before = count_of(app, RunState.COMPLETED)
    await submit(app, name, count, Length(steps=length), prefix=prefix)
    seconds = await drive(app)
    assert count_of(app, RunState.COMPLETED) == before + count, "every run ends completed"
    return seconds


def in_loop(body: Any) -> Any:
    """Run a coroutine from the top."""
    return asyncio.run(body)
