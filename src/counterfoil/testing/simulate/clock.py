"""The clock of a simulated process. A look at what others did is skipped until one of them gave a reason for it."""

import asyncio
from collections.abc import Callable

from counterfoil.app.duties.rounds import LONGEST_REST_US
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.worker import POLL_US
from counterfoil.testing.simulate.world import Process, World

_LOOKS = (POLL_US, LONGEST_REST_US)


class SimulatedClock(SystemClock):
    """Implements `engine.clock.Clock` over the world's time."""

    def __init__(self, world: World, process: Process, has_looked: Callable[[], None]) -> None:
        self._world = world
        self._process = process
        self._has_looked = has_looked

    def now_us(self) -> int:
        return self._world.wall_us

    def boot_us(self) -> int:
        return self._world.boot_us

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        if until_us is None or until_us - self.now_us() not in _LOOKS:
            return await super().wait(changed, until_us)
        # A worker looks for others' commits twenty times a second. A look that nobody gave a reason for finds what the
        # one before it found: the world wakes it only where it may find something else.
        loop = self._process.loop
        try:
            async with asyncio.timeout(None) as limit:
                look = loop.look_at(loop_us(until_us, self), lambda: limit.reschedule(loop.time()))
                try:
                    await changed.wait()
                finally:
                    look.cancel()
        except TimeoutError:
            self._has_looked()
            return False
        self._has_looked()
        return True


def loop_us(wall_us: int, clock: SimulatedClock) -> int:
    """An instant of the wall clock as the loop's clock counts, as both stand now."""
    return wall_us - clock.now_us() + clock.boot_us()
