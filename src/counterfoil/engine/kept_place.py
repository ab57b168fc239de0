"""A sender that lives longer than its attempt was to take keeps its place at the receiver: it may still be at work there."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar

from counterfoil.engine.opened import Opened
from counterfoil.engine.tap import Tap
from counterfoil.engine.verb import RunVerb
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.slots import SlotRecord
from counterfoil.store.port import Read, StorageError
from counterfoil.store.transaction import Transaction

EARLY_US = 2_000_000  # so long before its deadline a place is kept for the first time


@dataclass(frozen=True, slots=True)
class KeepPlace(RunVerb):
    """Prolong an attempt's place, or take it again. No fence: whoever drives the run by now, this sender lives."""

    attempt_id: str
    pool: str
    lasts_us: int
    boundary: ClassVar[str] = "lease.renewed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(AttemptRecord, self.attempt_id), Read.by(SlotRecord, "pool", self.pool))

    def decide(self, tx: Transaction) -> None:
        if tx.must(AttemptRecord, self.attempt_id).ended_at is None:
            tx.put(SlotRecord(self.pool, self.attempt_id, self.run_id, tx.now + self.lasts_us))


@asynccontextmanager
async def kept_place(
    opened: Opened, tap: Tap | None, lasts_us: int, begun: Callable[[], AttemptRecord | None]
) -> AsyncGenerator[None]:
    """While the block is open. `lasts_us`: from its beginning an attempt has this long; `begun` gives it once it is in flight."""
    if tap is None or tap.concurrency is None:
        yield
        return
    part = asyncio.create_task(_keep(opened, tap.pool, lasts_us - EARLY_US, begun))
    try:
        yield
    finally:
        part.cancel()


async def _keep(opened: Opened, pool: str, pause_us: int, begun: Callable[[], AttemptRecord | None]) -> None:
    never = asyncio.Event()
    while True:
        await opened.clock.wait(never, opened.clock.now_us() + pause_us)
        attempt = begun()  # one that is not in flight yet has its own time in full from when it is
        if attempt is not None:
            pause_us = opened.deadlines.lease // 3
            with suppress(StorageError):  # it is tried again, and a place that was lost is taken again
                await opened.write(KeepPlace(attempt.run_id, attempt.attempt_id, pool, opened.deadlines.lease))
