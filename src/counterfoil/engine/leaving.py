"""Work that a cancelled run does not wait for."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from counterfoil.engine.clock import breathe
from counterfoil.engine.execution import Execution
from counterfoil.engine.invoke import own_end

T = TypeVar("T")


async def unless_cancelled(execution: Execution, work: Awaitable[T], over: BaseException, *, within_us: int = 0) -> T:
    """What the work gives. A run that is cancelled meanwhile leaves it, and hears `over`.

    `within_us`: so long, since now, a cancelled run waits for it all the same. Work that is left is told so, and not waited
    for: what runs in a thread, or does not listen, would hold the run for as long as it likes.
    """
    until = execution.opened.clock.now_us() + within_us
    part, ended = asyncio.ensure_future(own_end(work)), asyncio.Event()
    part.add_done_callback(lambda _: ended.set())
    cancelled = asyncio.ensure_future(execution.cancelled.wait())
    try:
        await asyncio.wait({part, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        if not part.done() and within_us:
            await execution.opened.clock.wait(ended, until)
        if not part.done():
            raise over
        return part.result()
    finally:
        cancelled.cancel()
        await _left(part)


async def _left(part: asyncio.Future[Any]) -> None:
    part.cancel()
    for _ in range(8):  # mostly it is over at once
        if part.done():
            break
        await breathe()
    part.add_done_callback(_looked_at)


def _looked_at(part: asyncio.Future[Any]) -> None:
    if not part.cancelled():
        part.exception()
