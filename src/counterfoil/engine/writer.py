"""The one writer thread: takes all waiting verbs, at most one per run, and commits them together.

Nobody is answered before the COMMIT that carries its verb, nor, for a verb that sends, before the outside marker is flushed.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol, cast

from counterfoil.engine.problem_log import log
from counterfoil.engine.verb import RunVerb
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.store.port import Database, Mark, Outcome, StorageError, Verb

BATCH_LIMIT = 512
KNOWN_LIMIT = 10_000

Touched = Mapping[str, bool]
"""The runs of a commit; True for a verb of the run's own driver, which needs not be told."""


class Marker(Protocol):
    """The outside marker, as the writer sees it."""

    def flush(self, mark: Mark) -> None: ...


class Writer:
    """Owns the database's write side. `submit` awaits, `ask` blocks; both raise what the verb was refused with."""

    def __init__(
        self,
        database: Database,
        marker: Marker | None,
        flushed: Callable[[], None],
        committed: Callable[[Touched], None],
        named: Callable[[Sequence[str]], None],
    ) -> None:
        self._database = database
        self._marker = marker
        self._flushed = flushed
        self._committed = committed
        self._named = named  # writes the heads of these runs' chains outside
        self._known_outside: set[str] = set()  # of runs that have sent from here
        self._inbox: SimpleQueue[list[Waiting]] = SimpleQueue()  # an empty list: the writer is closed
        self._queue: deque[Waiting] = deque()  # the writer thread's own
        self._lock = threading.Lock()
        self._closing = False
        self._handed: dict[asyncio.AbstractEventLoop, list[Waiting]] = {}  # what each loop has not handed over yet
        self._broken: CounterfoilError | None = None
        self._start()

    def _start(self) -> None:
        """Begin to take verbs. The simulation's writer has no thread: its loop takes them."""
        self._thread = threading.Thread(target=self._work, name="counterfoil-writer", daemon=True)
        self._thread.start()

    async def submit(self, verb: RunVerb) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        waiting = self._handed.get(loop)
        if waiting is None:
            # One wake-up of the writer for all that this turn of the loop asks: it would fight us for the interpreter.
            waiting = self._handed[loop] = []
            loop.call_soon(self._hand_over, loop)
        waiting.append(Waiting(verb, future, loop))
        return await future

    def ask(self, verb: RunVerb) -> Any:
        """For threads that are not the event loop's: the edge of a synchronous program."""
        future: Future[Any] = Future()
        self._enqueue([Waiting(verb, future, None)])
        return future.result()

    def close(self) -> None:
        with self._lock:
            self._closing = True
            self._inbox.put([])
        self._thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._handed.pop(loop)
        try:
            self._enqueue(waiting)
        except Refused as refused:
            _answer([(each, Outcome(None, refused)) for each in waiting])

    def _enqueue(self, waiting: "list[Waiting]") -> None:
        with self._lock:  # nothing may come behind the empty list: nobody would answer it
            if self._closing:
                raise Refused("storage_failed", problem="the writer is closed")
            self._inbox.put(waiting)

    def _work(self) -> None:
        open_ = True
        while open_ or self._queue:
            open_ = self._collect(open_)
            self._commit_next()

    def _commit_next(self) -> None:
        """One batch of what waits."""
        batch = self._take()
        try:
            if batch:
                self._commit(batch)
        except Exception as defect:
            # This thread must not die: everything would wait for ever. Who was not answered yet is told.
            log.exception("the writer met a defect of its own")
            _deliver(batch, [Outcome(None, cast("CounterfoilError", defect))] * len(batch))

    def _collect(self, open_: bool) -> bool:
        """Take in all that was handed over; wait for it when there is nothing to do. False once the writer is closed."""
        while open_:
            try:
                waiting = self._inbox.get(block=not self._queue)
            except Empty:
                break
            self._queue.extend(waiting)
            open_ = bool(waiting)
        return open_

    def _take(self) -> list["Waiting"]:
        """All waiting verbs, at most one per run; the rest keeps its order for the next batch."""
        taken: list[Waiting] = []
        left: deque[Waiting] = deque()
        runs: set[str] = set()
        while self._queue and len(taken) < BATCH_LIMIT:
            waiting = self._queue.popleft()
            if waiting.verb.run_id in runs:
                left.append(waiting)
                continue
            runs.add(waiting.verb.run_id)
            taken.append(waiting)
        left.extend(self._queue)
        self._queue = left
        return taken

    def _commit(self, batch: list["Waiting"]) -> None:
        try:
            outcomes = self._apply([waiting.verb for waiting in batch])
        except Exception as problem:
            spoiled = not isinstance(problem, StorageError) or problem.refused_row
            if len(batch) > 1 and spoiled:
                # One verb spoilt the batch and all of it was rolled back: one by one, so that it spoils no other. After a
                # lock, a full disk or a failed flush nothing is tried again here: of the last the fate is open.
                for waiting in batch:
                    self._commit([waiting])
                return
            outcomes = [Outcome(None, cast("CounterfoilError", problem))] * len(
                batch
            )  # also a defect is told to who asked
        # First whoever goes on: their next work overlaps with the count of what ended.
        answers = list(zip(batch, outcomes, strict=True))
        self._tell([(w, o) for w, o in answers if not w.verb.ends])
        ending = [(w, o) for w, o in answers if w.verb.ends]
        if ending:
            self._count_heads([w.verb.run_id for w, o in ending if o.error is None])
            self._tell(ending)

    def _count_heads(self, run_ids: list[str]) -> None:
        """Outside, before anybody hears that a run parked or ended; a failure does not undo what is committed."""
        try:
            self._named(run_ids)
        except CounterfoilError as problem:
            log.error("the heads of ended runs could not be counted outside: %s", problem)

    def _tell(self, answers: "list[tuple[Waiting, Outcome]]") -> None:
        touched = {
            run_id: getattr(w.verb, "fence", None) is not None
            for w, _ in answers if not w.verb.quiet for run_id in w.verb.touches
        }  # fmt: skip
        if touched:
            self._committed(touched)
        if answers:
            _deliver([w for w, _ in answers], [o for _, o in answers])

    def _apply(self, verbs: Sequence[RunVerb]) -> list[Outcome]:
        if self._broken is not None and any(verb.sends for verb in verbs):
            self._repair()
        outcomes = self._database.apply(cast("Sequence[Verb]", verbs))
        if any(verb.sends and outcome.error is None for verb, outcome in zip(verbs, outcomes, strict=True)):
            # Committed, and not yet known outside. Nobody may send before the marker holds it, so its failure is
            # told to the senders of this batch: their attempts are in doubt on paper, and nothing has left.
            try:
                self._name([v.run_id for v, o in zip(verbs, outcomes, strict=True) if v.departs and o.error is None])
                self._flush()
            except CounterfoilError as problem:
                self._broken = problem
                return [
                    Outcome(None, problem) if verb.sends and o.error is None else o
                    for verb, o in zip(verbs, outcomes, strict=True)
                ]
        return outcomes

    def _name(self, run_ids: list[str]) -> None:
        """Once for each run: a restored database must know that something left for it, also where it never knew the run."""
        new = [run_id for run_id in run_ids if run_id not in self._known_outside]
        if not new or self._marker is None:
            return
        self._named(new)
        if len(self._known_outside) > KNOWN_LIMIT:
            self._known_outside.clear()  # named twice is named
        self._known_outside.update(new)

    def _flush(self) -> None:
        if self._marker is not None:
            self._marker.flush(self._database.marked())
            self._flushed()

    def _repair(self) -> None:
        self._flush()
        self._broken = None


@dataclass(slots=True)
class Waiting:
    verb: RunVerb
    future: "Future[Any] | asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop | None


def _deliver(batch: Sequence[Waiting], outcomes: Sequence[Outcome]) -> None:
    """Answer all of a batch: one wake-up per event loop, not one per verb."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Outcome]]] = {}
    for waiting, outcome in zip(batch, outcomes, strict=True):
        if waiting.loop is None:
            _answer([(waiting, outcome)])
        else:
            loops.setdefault(waiting.loop, []).append((waiting, outcome))
    for loop, answers in loops.items():
        with suppress(RuntimeError):  # the loop was closed: whoever waited there is gone, the commit stands
            loop.call_soon_threadsafe(_answer, answers)


def _answer(answers: list[tuple[Waiting, Outcome]]) -> None:
    for waiting, outcome in answers:
        if waiting.future.done():
            continue
        if outcome.error is None:
            waiting.future.set_result(outcome.value)
        else:
            waiting.future.set_exception(outcome.error)
