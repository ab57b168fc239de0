"""Duties, and what is told to a collector, beside a worker or a console in the same process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.app.tracing import exporting_of

if TYPE_CHECKING:
    from counterfoil.app.application import App

END_S = 5.0  # how long a duty that is under way may take at the end; its lease gives it to another after that


@asynccontextmanager
async def duties_beside(app: "App", *, wanted: bool = True) -> AsyncGenerator[None]:
    """This process's share in the duties while the block is open; none where it is not `wanted`. A collector is told either way.

    Raises CounterfoilError(tool_missing): a collector is named, and what could tell it is not installed.
    """
    stop = asyncio.Event()
    exporting = await exporting_of(app)
    shares = [Rounds(app, DUTIES).run(stop)] if wanted else []
    shares += [exporting.run(stop)] if exporting is not None else []
    parts = {asyncio.create_task(share) for share in shares}
    try:
        yield
    finally:
        stop.set()
        if parts:
            await asyncio.wait(parts, timeout=END_S)
        for part in parts:
            part.cancel()
