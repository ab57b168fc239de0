"""A message in a thread of its own: what carries it is somebody else's code, which may hang for ever."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

LONGEST_S = 30.0


class Apart:
    """Carries one message at a time for each name. One that hangs holds up neither other names nor the end of the process."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._under_way: dict[str, threading.Thread] = {}

    async def carry(self, name: str, send: Callable[[], str | None]) -> str | None:
        """What `send` gives: its problem, or None. Raises what it raises, and TimeoutError when it takes too long."""
        before = self._under_way.get(name)
        if before is not None and before.is_alive():
            return "the last message is still under way"  # no thread more for each try
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[str | None] = loop.create_future()

        def work() -> None:
            try:
                tell(send(), None)
            except Exception as problem:
                tell(None, problem)

        def tell(answer: str | None, problem: Exception | None) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(_end, ended, answer, problem)

        # A daemon: the interpreter waits at its end for every other thread.
        thread = self._under_way[name] = threading.Thread(target=work, name=f"counterfoil-notice-{name}", daemon=True)
        thread.start()
        async with asyncio.timeout(self._longest_s):
            return await ended


def _end(ended: "asyncio.Future[str | None]", answer: str | None, problem: Exception | None) -> None:
    if ended.done():
        return
    if problem is None:
        ended.set_result(answer)
    else:
        ended.set_exception(problem)
