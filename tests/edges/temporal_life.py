"""A worker of Temporal in a process of its own, until it is killed: `python -m tests.edges.temporal_life HEARTBEAT LONGEST`."""

import asyncio
import sys
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from counterfoil import settings
from counterfoil.integrations.temporal import CounterfoilPlugin, Patience
from tests.edges.temporal_app import app


async def main() -> None:
    heartbeat, longest = (timedelta(seconds=float(each)) for each in sys.argv[1:3])
    patience = Patience(heartbeat=heartbeat, longest=longest)
    queue = settings.value_of("COUNTERFOIL_TEMPORAL_QUEUE")
    address = settings.value_of("COUNTERFOIL_TEMPORAL_ADDRESS")
    client = await Client.connect(address, plugins=[CounterfoilPlugin(app, patience=patience)])
    async with Worker(client, task_queue=queue, max_cached_workflows=0):  # else its queue outlives it by 10 seconds
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
