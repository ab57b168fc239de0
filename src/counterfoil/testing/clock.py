"""A clock that a test moves forward, and that every process of the test shares."""

import asyncio
import fcntl
import mmap
from datetime import timedelta
from pathlib import Path

from counterfoil.engine.clock import MICROSECONDS, SystemClock

LOOK_S = 0.02  # how often a wait looks whether another process has moved the time


class SharedClock:
    """The host's clocks, ahead by as many microseconds as a file says. Who opens the same file has the same time.

    Both clocks move together: a skip of time is not a jump of the wall clock.
    """

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(8))
        self._file = file.open("r+b")
        self._ahead = mmap.mmap(self._file.fileno(), 8)
        self._host = SystemClock()

    def now_us(self) -> int:
        return self._host.now_us() + self._skipped()

    def boot_us(self) -> int:
        return self._host.boot_us() + self._skipped()

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        if until_us is None:
            return await changed.wait()
        # As on the host's own clock: who sets the wall clock meanwhile makes no wait longer or shorter.
        end = self.boot_us() + until_us - self.now_us()
        while not changed.is_set():
            left = (end - self.boot_us()) / MICROSECONDS
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(changed.wait(), min(left, LOOK_S))
            except TimeoutError:
                continue
        return True

    def advance(self, duration: timedelta) -> None:
        """Skip some time, in every process at once."""
        self._move(duration // timedelta(microseconds=1))

    def skip_to(self, until_us: int) -> None:
        """Skip to an instant; one that has passed changes nothing."""
        self._move(until_us - self.now_us())

    def close(self) -> None:
        self._ahead.close()
        self._file.close()

    def _skipped(self) -> int:
        return int.from_bytes(self._ahead[:8], "little")

    def _move(self, microseconds: int) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._ahead[:8] = (self._skipped() + max(0, microseconds)).to_bytes(8, "little")
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
