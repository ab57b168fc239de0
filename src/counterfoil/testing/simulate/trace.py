"""Everything that happened in a simulation, as a running digest: equal digests are equal histories."""

import hashlib
from collections import deque
from collections.abc import Callable

SHOWN = 400  # the last lines are kept for people


class Trace:
    """`note` adds one line with the time. `lines` are the newest of them."""

    def __init__(self, now_us: Callable[[], int], *, shown: int = SHOWN) -> None:
        self._now_us = now_us
        self._digest = hashlib.sha256()
        self.lines: deque[str] = deque(maxlen=shown)

    def note(self, who: str, what: str) -> None:
        """One thing that happened. Nothing that differs between two plays of one seed may be in it: no path, no real time."""
        line = f"{self._now_us() / 1_000_000:.6f} {who}: {what}"
        self._digest.update(line.encode() + b"\n")
        self.lines.append(line)

    def digest(self) -> str:
        """`sha256:` and the hexadecimal digits over all lines so far."""
        return f"sha256:{self._digest.hexdigest()}"
