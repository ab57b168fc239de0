"""The writer of a simulated process: the engine's own batching and commits, at moments that the seed draws, without a thread."""

from concurrent.futures import Future
from typing import Any

from counterfoil.engine.verb import RunVerb
from counterfoil.engine.writer import Waiting, Writer
from counterfoil.testing.simulate.world import here

PAUSES_US = (0, 0, 100, 900, 4_000)  # until the writer takes what waits: more comes into one commit


class InlineWriter(Writer):
    """As the engine's: takes all that waits, at most one verb per run, commits once, answers after the COMMIT."""

    _scheduled = False

    def _start(self) -> None:
        self._process = here()
        self._chance = self._process.world.chance(f"writer {self._process.number}")

    def ask(self, verb: RunVerb) -> Any:
        """Blocks: what waited before it is committed with it."""
        self._process.check()
        future: Future[Any] = Future()
        self._queue.append(Waiting(verb, future, None))
        while not future.done():
            self._commit_next()
        return future.result()

    def close(self) -> None:
        self._closing = True

    def _enqueue(self, waiting: list[Waiting]) -> None:
        self._queue.extend(waiting)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and self._queue:
            self._scheduled = True
            self._process.loop.call_in(self._chance.choice(PAUSES_US) + self._process.slow_us, self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        self._process.check()
        self._commit_next()
        self._schedule()
