"""The order in which recorded outcomes are given back: the journal's, whichever branch asks first."""

import asyncio
from collections.abc import Callable

from counterfoil.engine.branches import Branch, Wait
from counterfoil.rules.replay import Journal


class Turns:
    """`take` waits until every earlier outcome was given to its branch. With one branch open it never waits."""

    def __init__(self, journal: Journal, branches: list[Branch], activity: Callable[[], None]) -> None:
        self._journal = journal
        self._branches = branches
        self._activity = activity
        self._waiting: dict[int, tuple[asyncio.Future[None], Branch]] = {}
        self._given: set[int] = set()
        self._next = 0

    async def take(self, branch: Branch, sequence: int, at: int) -> None:
        self._given.add(sequence)
        if len(self._branches) > 1 and not self._is_next(sequence):
            await self._wait(branch, sequence, at)
        branch.last_at = max(branch.last_at, at)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._release)

    def pass_over(self, sequence: int) -> None:
        """Nobody will ask for this outcome: its caller was told something else before."""
        self._given.add(sequence)

    def release_lowest(self) -> bool:
        """Nothing else moves: an outcome in between belongs to a call that this code no longer waits for."""
        return any(self._give(sequence) for sequence in sorted(self._waiting))

    def release_all(self) -> None:
        for sequence in list(self._waiting):
            self._give(sequence)

    async def _wait(self, branch: Branch, sequence: int, at: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[sequence] = (future, branch)
        branch.waiting = Wait("branches", branch.pending or "", at, None, None, "waits for its turn in the replay")
        self._activity()
        try:
            await future
        finally:
            branch.waiting = None
            self._waiting.pop(sequence, None)

    def _is_next(self, sequence: int) -> bool:
        order = self._journal.order
        while self._next < len(order) and order[self._next] in self._given and order[self._next] not in self._waiting:
            if order[self._next] >= sequence:
                break
            self._next += 1
        return self._next >= len(order) or order[self._next] >= sequence

    def _release(self) -> None:
        for sequence in sorted(self._waiting):
            if self._is_next(sequence) and self._give(sequence):
                return

    def _give(self, sequence: int) -> bool:
        future, branch = self._waiting[sequence]
        if future.done():
            return False
        branch.waiting = None  # from now on, not only from when its task runs: nobody may think that all stand still
        future.set_result(None)
        return True
