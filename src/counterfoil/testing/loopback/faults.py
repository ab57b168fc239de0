"""Faults on demand: each is armed by name for a number of writes, and consumed in the order in which it was armed."""

import threading
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

LONGEST_HOLD_SECONDS = 60.0
"""No fault holds a connection for longer: a forgotten test must not keep a process for ever."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One armed fault. `seconds` is the delay of `slow` and `late`, or None for the server's own default.

    `status`, `body` and `headers` are what `refuse` answers, or None: contracts name their refusals differently.
    """

    name: str
    seconds: float | None = None
    status: int | None = None
    body: Mapping[str, object] | None = None
    headers: Mapping[str, str] | None = None


class Faults:
    """The armed faults of one server, oldest first. Safe to use from several threads."""

    def __init__(self, supported: Collection[str]) -> None:
        self.supported = tuple(sorted(supported))
        self._armed: deque[Fault] = deque()
        self._lock = threading.Lock()

    def arm(
        self,
        name: str,
        *,
        count: int = 1,
        seconds: float | None = None,
        status: int | None = None,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Arm a fault for the next `count` writes. ValueError for an unknown name or a number out of bounds."""
        if name not in self.supported:
            raise ValueError(f"unknown fault {name!r}; this server has: {', '.join(self.supported)}")
        if not 1 <= count <= 10_000:
            raise ValueError(f"a fault is armed 1 to 10000 times, not {count}")
        if seconds is not None and not 0 <= seconds <= LONGEST_HOLD_SECONDS:
            raise ValueError(f"a fault lasts 0 to {LONGEST_HOLD_SECONDS:.0f} seconds, not {seconds}")
        if status is not None and not 200 <= status <= 599:
            raise ValueError(f"a reply has a status of 200 to 599, not {status}")
        with self._lock:
            self._armed.extend([Fault(name, seconds, status, body, headers)] * count)

    def arm_text(self, text: str) -> None:
        """Arm from a command line: `drop-reply`, or `drop-reply:2` for the next two writes."""
        name, _, count = text.partition(":")
        if count and not count.isdecimal():
            raise ValueError(f"write a fault as NAME or NAME:COUNT, not {text!r}")
        self.arm(name, count=int(count or 1))

    def take(self, among: Collection[str] | None = None) -> Fault | None:
        """The next fault, consumed; None when nothing is armed or the next one is not `among` those asked for."""
        with self._lock:
            if not self._armed or (among is not None and self._armed[0].name not in among):
                return None
            return self._armed.popleft()

    def clear(self) -> None:
        """Disarm everything."""
        with self._lock:
            self._armed.clear()

    def names(self) -> list[str]:
        """The names of the armed faults, next one first."""
        with self._lock:
            return [fault.name for fault in self._armed]
