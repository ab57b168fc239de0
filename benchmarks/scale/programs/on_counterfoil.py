"""A worker of ours: `python -m benchmarks.scale.programs.on_counterfoil DB`."""

import asyncio
import sys
from datetime import timedelta

from pydantic import BaseModel

from benchmarks.scale.programs.told import STEPS, ready, step, until_told
from benchmarks.workload import BUDGET
from counterfoil.app import App
from counterfoil.app.driving import freeze_memory
from counterfoil.engine.port import Run


class Named(BaseModel):
    """The name that the worker's lines give a run, and how many steps it takes."""

    name: str
    steps: int = STEPS


def application(db: str) -> App:
    """`reference` takes its steps; `sleeper` waits for a day."""
    app = App("scale", db=db)

    async def work(name: str, number: int) -> str:
        return step(name, number)

    @app.workflow(version=1, budget=BUDGET)
    async def reference(run: Run, asked: Named) -> int:
        for number in range(asked.steps):
            await run.step(work, asked.name, number)
        return asked.steps

    @app.workflow(version=1, budget=BUDGET)
    async def sleeper(run: Run, asked: Named) -> int:
        await run.sleep(timedelta(days=1))
        return asked.steps

    return app


async def main(app: App) -> None:
    """Drive until the standard input ends."""
    worker = app.new_worker()
    driving = asyncio.create_task(worker.run())
    freeze_memory()
    ready()
    await asyncio.to_thread(until_told)
    worker.stop()
    await driving


if __name__ == "__main__":
    served = application(sys.argv[1])
    asyncio.run(main(served))
    served.close()
