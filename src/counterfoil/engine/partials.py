"""What a model has answered so far: shown to whoever watches, also to who comes late; never stored. Only a decision is an answer."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock

LONGEST = 200_000  # characters of one answer that are kept for who comes late; the decision holds the whole


@dataclass(frozen=True, slots=True)
class Partial:
    """`text` is what is being answered at `position` of a run, from character `offset` on.

    `ask` counts the questions there: after a call that was lost the answer begins again. An `offset` behind the end of the
    piece before means that what lies between was too long to be kept.
    """

    run_id: str
    position: str
    text: str
    ask: int = 0
    offset: int = 0

    @property
    def end(self) -> int:
        """The offset of what follows it."""
        return self.offset + len(self.text)


class _Draft:
    """The answer to one question so far. What of it is kept begins at `start`."""

    def __init__(self, position: str, ask: int) -> None:
        self.position = position
        self.ask = ask
        self.start = self.end = 0
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.end += len(text)
        if self.end - self.start > LONGEST:
            kept = self.behind(self.end - LONGEST // 2)
            self._pieces, self.start = [kept], self.end - len(kept)

    def behind(self, offset: int) -> str:
        """What is kept of it from `offset` on. The pieces are joined once, and stay so until the next one comes."""
        if offset >= self.end:
            return ""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0][max(offset - self.start, 0) :]


class Follower:
    """One who watches a run, on its own event loop. `arrived` is set with each piece."""

    def __init__(self, partials: "Partials", run_id: str, arrived: asyncio.Event, seen: Partial | None) -> None:
        self.run_id = run_id
        self.arrived = arrived
        self._partials = partials
        self._loop = asyncio.get_running_loop()
        self._seen = seen

    def tell(self) -> None:
        """There is more. From any thread."""
        with suppress(RuntimeError):  # its loop is closed: nobody watches any more
            self._loop.call_soon_threadsafe(self.arrived.set)

    def ready(self) -> list[Partial]:
        """What has come and was not given yet, without waiting, as one piece; at first all that was answered before."""
        found = self._partials.behind(self.run_id, self._seen)
        self._seen = found or self._seen
        return [] if found is None else [found]


class Partials:
    """Of one process: who asks a model publishes, who watches that run follows. Nobody waits for a watcher.

    A run asks one question at a time, so it has one draft. `passed_on` is given every piece of every run, and one without text
    where a draft ended, for a process beside this one. It may not wait either.
    """

    def __init__(self) -> None:
        self.passed_on: Callable[[Partial], None] | None = None
        self._lock = Lock()
        self._drafts: dict[str, _Draft] = {}
        self._followers: dict[str, set[Follower]] = {}

    def publish(self, run_id: str, position: str, text: str, ask: int = 0) -> None:
        """The next piece of the answer to the `ask`-th question at a position. From any thread."""
        with self._lock:
            draft = self._drafts.get(run_id)
            if draft is None or (draft.position, draft.ask) != (position, ask):
                draft = self._drafts[run_id] = _Draft(position, ask)
            draft.add(text)
            told = tuple(self._followers.get(run_id, ()))
        if self.passed_on is not None:
            self.passed_on(Partial(run_id, position, text, ask))
        for follower in told:
            follower.tell()

    def end(self, run_id: str) -> None:
        """The answer is whole, or there will be none: the record says so, and the draft is forgotten."""
        with self._lock:
            known = self._drafts.pop(run_id, None)
        if known is not None and self.passed_on is not None:
            self.passed_on(Partial(run_id, known.position, "", known.ask))

    def behind(self, run_id: str, seen: Partial | None) -> Partial | None:
        """What is kept of a run's answer behind what was seen of it."""
        with self._lock:
            draft = self._drafts.get(run_id)
            if draft is None:
                return None
            same = seen is not None and (seen.position, seen.ask) == (draft.position, draft.ask)
            offset = seen.end if seen is not None and same else 0
            text = draft.behind(offset)
            if not text:
                return None
            return Partial(run_id, draft.position, text, draft.ask, max(offset, draft.start))

    @contextmanager
    def following(
        self, run_id: str, arrived: asyncio.Event | None = None, *, seen: Partial | None = None
    ) -> Generator[Follower]:
        """Follow a run while the block is open: what was answered so far, behind what was `seen` of it, then what comes."""
        follower = Follower(self, run_id, arrived or asyncio.Event(), seen)
        with self._lock:
            self._followers.setdefault(run_id, set()).add(follower)
        try:
            yield follower
        finally:
            with self._lock:
                rest = self._followers[run_id]
                rest.discard(follower)
                if not rest:
                    del self._followers[run_id]

    async def follow(self, run_id: str) -> AsyncGenerator[Partial]:
        """What was answered so far, then what comes, until the caller leaves."""
        with self.following(run_id) as follower:
            while True:
                follower.arrived.clear()
                for partial in follower.ready():
                    yield partial
                await follower.arrived.wait()
