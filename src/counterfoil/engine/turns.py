"""The order in which recorded outcomes are given back: the journal's, whichever branch asks first."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from counterfoil.engine.branches import Branch, Wait
from counterfoil.rules.replay import Journal


class Turns:
    """`take` waits until every earlier outcome was given to its branch. With one branch open it never waits."""

    def __init__(self, journal: Journal, branches: list[Branch], activity: Callable[[], None]) -> None:
        self._journal = journal
        self._branches = branches
        self._activity = activity
        self._waiting: list[_Turn] = []  # two branches may wait for one outcome: a timeout around both
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
        open_ = [turn.sequence for turn in self._waiting if not turn.future.done()]
        return bool(open_) and self._give(min(open_))

    def release_all(self) -> None:
        for sequence in {turn.sequence for turn in self._waiting}:
            self._give(sequence)

    async def _wait(self, branch: Branch, sequence: int, at: int) -> None:
        turn = _Turn(sequence, branch, asyncio.get_running_loop().create_future())
        self._waiting.append(turn)
        branch.waiting = Wait("branches", branch.pending or "", at, None, None, "waits for its turn in the replay")
        self._activity()
        try:
            await turn.future
        finally:
            branch.waiting = None
            self._waiting.remove(turn)

    def _is_next(self, sequence: int) -> bool:
        order, waiting = self._journal.order, {turn.sequence for turn in self._waiting}
        while self._next < len(order) and order[self._next] in self._given and order[self._next] not in waiting:
            if order[self._next] >= sequence:
                break
            self._next += 1
        return self._next >= len(order) or order[self._next] >= sequence

    def _release(self) -> None:
        for sequence in sorted({turn.sequence for turn in self._waiting}):
            if self._is_next(sequence) and self._give(sequence):
                return

    def _give(self, sequence: int) -> bool:
        given = False
        for turn in self._waiting:
            if turn.sequence == sequence and not turn.future.done():
                turn.branch.waiting = (
                    None  # from now on, not only from when it runs: nobody may think that all stand still
                )
                turn.future.set_result(None)
                given = True
        return given


@dataclass(eq=False, slots=True)
class _Turn:
    sequence: int
    branch: Branch
    future: asyncio.Future[None]
