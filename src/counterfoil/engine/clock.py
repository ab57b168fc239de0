"""The one clock and the one source of chance. Everything else takes them as arguments."""

import asyncio
import hashlib
import os
import random
import socket
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

MICROSECONDS = 1_000_000
CLOCK_MARGIN_US = 60 * MICROSECONDS  # how far the wall clock and the one that counts sleep may drift apart


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


class SteadyClock:
    """A clock whose wall somebody may set. Beyond the margin time goes on by the clock that counts sleep, until both agree.

    So a wall that was set makes no deadline pass and no pause end that did not, and an answer of a receiver never counts as
    later than it was. Which of the two is right nobody knows here: `jumped` stops all sending meanwhile.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = clock.now_us() - clock.boot_us()

    def now_us(self) -> int:
        """The wall clock, or the time that it showed at the start and what has passed since."""
        wall, steady = self._read()
        return steady if abs(wall - steady) > CLOCK_MARGIN_US else wall

    def boot_us(self) -> int:
        """The clock that counts sleep."""
        return self._clock.boot_us()

    def jumped(self) -> bool:
        """Whether the two disagree by more than the margin since the start."""
        wall, steady = self._read()
        return abs(wall - steady) > CLOCK_MARGIN_US

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        """As the clock underneath, which waits by its own wall."""
        ahead = 0 if until_us is None else self._clock.now_us() - self.now_us()
        return await self._clock.wait(changed, None if until_us is None else until_us + ahead)

    def _read(self) -> tuple[int, int]:
        return self._clock.now_us(), self._clock.boot_us() + self._offset


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


@cache
def machine_id() -> str:
    """Tells this machine from others that have its name; "" where the system does not. The system's own id is not shown to others."""
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with suppress(OSError):
            if known := Path(place).read_text().strip():
                return hashlib.sha256(b"counterfoil " + known.encode()).hexdigest()[:16]
    return ""


def boot_id() -> str:
    """`MACHINE.BOOT`, without the machine where none is known. The boot changes whenever this machine starts."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = "unknown"
    return f"{machine_id()}.{boot}" if machine_id() else boot


def machine_of(boot: str) -> str:
    """The machine in a `boot_id`, "" where none is named."""
    machine, named, _ = boot.partition(".")
    return machine if named else ""


def process_id() -> int:
    return os.getpid()


async def breathe() -> None:
    """Let the event loop run what is ready."""
    await asyncio.sleep(0)
