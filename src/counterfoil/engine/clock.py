"""The one clock and the one source of chance. Everything else takes them as arguments."""

import asyncio
import os
import random
import socket
import time
from pathlib import Path
from typing import Protocol

MICROSECONDS = 1_000_000


class Clock(Protocol):
    """Times in microseconds. `boot_us` counts sleep and never jumps; `now_us` is the wall clock."""

    def now_us(self) -> int: ...

    def boot_us(self) -> int: ...

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        """Wait until something changed, at most until that wall time. True when it did."""
        ...


class SystemClock:
    """The clocks of this host."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def boot_us(self) -> int:
        # CLOCK_BOOTTIME counts a laptop's sleep, which CLOCK_MONOTONIC on Linux does not.
        return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        timeout = None if until_us is None else max(0.0, (until_us - self.now_us()) / MICROSECONDS)
        try:
            async with asyncio.timeout(timeout):  # no task of its own, as `wait_for` makes
                await changed.wait()
        except TimeoutError:
            return False
        return True


class Chance:
    """Names that nobody has used: for workers, people's secrets and request-less submissions."""

    def __init__(self, seed: int | None = None) -> None:
        self._random: random.Random = random.SystemRandom() if seed is None else random.Random(seed)

    def hex(self, bits: int) -> str:
        return f"{self._random.getrandbits(bits):0{bits // 4}x}"


Random = random.Random


def seeded(seed: str) -> Random:
    """Chance that is the same for the same seed: what a run draws is the same at every replay."""
    return random.Random(seed)


def host_name() -> str:
    return socket.gethostname()


def boot_id() -> str:
    """Changes with every boot of this host: a lock found free proves nothing about another boot's processes."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def process_id() -> int:
    return os.getpid()


async def breathe() -> None:
    """Let the event loop run what is ready."""
    await asyncio.sleep(0)
