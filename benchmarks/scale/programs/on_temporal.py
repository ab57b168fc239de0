"""A worker of Temporal: `python -m benchmarks.scale.programs.on_temporal ADDRESS`."""

import asyncio
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from benchmarks.scale.programs.told import ready, step, until_told

QUEUE = "scale"
LIMIT = timedelta(seconds=30)


@activity.defn
async def work(name: str, number: int) -> str:
    """One durable step."""
    return step(name, number)


@workflow.defn(name="reference")
class Reference:
    """So many of them."""

    @workflow.run
    async def run(self, name: str, steps: int) -> int:
        """Gives how many."""
        for number in range(steps):
            await workflow.execute_activity(work, args=[name, number], start_to_close_timeout=LIMIT)
        return steps


async def main(address: str) -> None:
    """Poll the task queue until the standard input ends."""
    client = await Client.connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[Reference], activities=[work]):
        ready()
        await asyncio.to_thread(until_told)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
