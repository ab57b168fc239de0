"""A clock that moves only when told to: tests wait on signals, never on time."""

import asyncio


class FakeClock:
    """Implements `engine.clock.Clock`. `advance` moves both clocks; `jump` only the wall clock."""

    def __init__(self, start_us: int = 1_800_000_000_000_000) -> None:
        self._wall = start_us
        self._boot = 1_000_000_000
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def now_us(self) -> int:
        return self._wall

    def boot_us(self) -> int:
        return self._boot

    def advance(self, seconds: float) -> None:
        """Time passes: whoever waits for an instant that is now past goes on."""
        self._wall += round(seconds * 1_000_000)
        self._boot += round(seconds * 1_000_000)
        self._wake()

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall += round(seconds * 1_000_000)
        self._wake()

    def _wake(self) -> None:
        for until, future in self._waiting:
            if until <= self._wall and not future.done():
                future.set_result(None)
        self._waiting = [(until, future) for until, future in self._waiting if not future.done()]

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        """Until something changed, or until time was advanced to that instant. True when it did."""
        if changed.is_set():
            return True
        if until_us is not None and until_us <= self._wall:
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if until_us is not None:
            self._waiting.append((until_us, future))
        waiter = asyncio.ensure_future(changed.wait())
        try:
            await asyncio.wait((waiter, future), return_when=asyncio.FIRST_COMPLETED)
            return changed.is_set()
        finally:
            waiter.cancel()
            future.cancel()
            self._waiting = [(until, known) for until, known in self._waiting if known is not future]
