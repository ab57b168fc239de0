"""Duties beside a worker or a console, in the same process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds

if TYPE_CHECKING:
    from counterfoil.app.application import App

END_S = 5.0  # how long a duty that is under way may take at the end; its lease gives it to another after that


@asynccontextmanager
async def duties_beside(app: "App", *, wanted: bool = True) -> AsyncGenerator[None]:
    """This process's share in the duties while the block is open; none where it is not `wanted`."""
    if not wanted:
        yield
        return
    stop = asyncio.Event()
    part = asyncio.create_task(Rounds(app, DUTIES).run(stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait({part}, timeout=END_S)
        part.cancel()
