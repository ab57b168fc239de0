"""What a model has answered so far: shown to whoever watches now, never stored. Only a decision is an answer."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

KEPT = 1000  # pieces that a slow watcher may lie behind; the oldest are dropped, since the decision holds the whole


@dataclass(frozen=True, slots=True)
class Partial:
    """`text` is the next piece of what is being answered at `position` of a run."""

    run_id: str
    position: str
    text: str


class Follower:
    """One who watches a run, on its own event loop. `arrived` is set with each piece."""

    def __init__(self, run_id: str, arrived: asyncio.Event) -> None:
        self.run_id = run_id
        self.arrived = arrived
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[Partial] = deque(maxlen=KEPT)

    def tell(self, partial: Partial) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # its loop is closed: nobody watches any more
            self._loop.call_soon_threadsafe(self._take, partial)

    def _take(self, partial: Partial) -> None:
        self._pieces.append(partial)
        self.arrived.set()

    def ready(self) -> list[Partial]:
        """What has come so far, without waiting."""
        found = list(self._pieces)
        self._pieces.clear()
        return found


class Partials:
    """Of one process: who asks a model publishes, who watches that run follows. Nobody waits for a watcher.

    `passed_on` is given every piece of every run, for a process beside this one. It may not wait either.
    """

    def __init__(self) -> None:
        self._followers: dict[str, set[Follower]] = {}
        self.passed_on: Callable[[Partial], None] | None = None

    def publish(self, run_id: str, position: str, text: str) -> None:
        """The next piece of text. From any thread; costs nothing while nobody watches."""
        if self.passed_on is not None:
            self.passed_on(Partial(run_id, position, text))
        for follower in tuple(self._followers.get(run_id, ())):
            follower.tell(Partial(run_id, position, text))

    @contextmanager
    def following(self, run_id: str, arrived: asyncio.Event | None = None) -> Generator[Follower]:
        """Follow a run while the block is open, from now on."""
        follower = Follower(run_id, arrived or asyncio.Event())
        self._followers.setdefault(run_id, set()).add(follower)
        try:
            yield follower
        finally:
            rest = self._followers[run_id]
            rest.discard(follower)
            if not rest:
                del self._followers[run_id]

    async def follow(self, run_id: str) -> AsyncGenerator[Partial]:
        """Every piece from now on, until the caller leaves."""
        with self.following(run_id) as follower:
            while True:
                await follower.arrived.wait()
                follower.arrived.clear()
                for partial in follower.ready():
                    yield partial
