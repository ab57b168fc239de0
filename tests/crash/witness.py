"""Who executes which run, and from when to when: lines in one file, written by the workers' own code."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from counterfoil.engine.clock import SystemClock

FILE = "FLEET_WITNESS"  # in the environment: the file; without it nothing is written
GATE = "FLEET_GATE"  # in the environment: a file that steps wait for; without it they do not


@contextmanager
def executing(name: str) -> Iterator[None]:
    """Around the body of a workflow. A process that is killed inside never says that it left."""
    file = os.environ.get(FILE)
    if file is None:
        yield
        return
    _line(file, name, "in")
    try:
        yield
    finally:
        _line(file, name, "out")


async def gate() -> None:
    """A step stands here until the test makes the file."""
    file, clock = os.environ.get(GATE), SystemClock()
    while file is not None and not os.path.exists(file):  # noqa: ASYNC240 - a look of microseconds
        await clock.wait(asyncio.Event(), clock.now_us() + 20_000)


def _line(file: str, name: str, what: str) -> None:
    """One write, so that lines of several processes do not mix."""
    opened = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(opened, f"{os.getpid()} {name} {what} {SystemClock().boot_us()}\n".encode())
    finally:
        os.close(opened)


@dataclass(slots=True)
class Stay:
    """One execution in one process. `until`: microseconds since boot, as `since`; None while it lasts."""

    name: str
    pid: int
    since: int
    until: int | None = None

    def meets(self, other: "Stay") -> bool:
        return self.pid != other.pid and self.since < (other.until or 1 << 62) and other.since < (self.until or 1 << 62)


def stays(file: Path) -> list[Stay]:
    """All that was written so far."""
    found: list[Stay] = []
    for line in file.read_text().splitlines() if file.exists() else ():
        pid, name, what, at = line.split()
        if what == "in":
            found.append(Stay(name, int(pid), int(at)))
            continue
        inside = next(s for s in reversed(found) if (s.pid, s.name, s.until) == (int(pid), name, None))
        inside.until = int(at)
    return found


def inside(file: Path) -> dict[str, int]:
    """By name of what is executed just now: the process."""
    return {stay.name: stay.pid for stay in stays(file) if stay.until is None}


def at_once(file: Path, stopped: dict[int, int]) -> list[tuple[Stay, Stay]]:
    """Two executions of one run in two processes at once. `stopped`: when a process was killed or frozen, which ended what it did."""
    found = stays(file)
    for stay in found:
        when = stopped.get(stay.pid)
        if when is not None and stay.since <= when < (stay.until or 1 << 62):
            stay.until = when
    return [(one, other) for one, other in combinations(found, 2) if one.name == other.name and one.meets(other)]
