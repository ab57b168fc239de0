"""A worker of Temporal until it is told to end: what `counterfoil worker --engine temporal` runs."""

import asyncio
import signal
from collections.abc import Callable

from temporalio.worker import Worker

from counterfoil.app import App
from counterfoil.integrations.temporal.connecting import connected, queue

GRACE_S = 10


async def serve_until_told(app: App, listening: Callable[[str], None]) -> None:
    """Until SIGTERM or Ctrl-C. `listening` is told the queue once it polls. Raises Refused, CounterfoilError(temporal_down)."""
    client = await connected(app)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    worker = Worker(client, task_queue=queue())
    running = asyncio.create_task(worker.run())
    waiting = asyncio.create_task(told.wait())
    listening(queue())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not running.done():
        await worker.shutdown()
    await running
