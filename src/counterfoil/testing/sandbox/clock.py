"""The sandbox's clock: the host's, moved forward on demand, so that a window of a day can end in a test."""

import time
from pathlib import Path

from counterfoil.testing.clock import SharedClock


class SandboxClock:
    """Seconds since 1970, plus everything it was moved by. `shared`: the file of a clock that others move as well."""

    def __init__(self, shared: Path | None = None) -> None:
        self._moved = 0.0
        self._shared = None if shared is None else SharedClock(shared)

    def now(self) -> float:
        """The time in force."""
        return (time.time() if self._shared is None else self._shared.now_us() / 1_000_000) + self._moved

    def advance(self, seconds: float) -> None:
        """Move forward. ValueError for a step back."""
        if seconds < 0:
            raise ValueError("the sandbox's clock only moves forward")
        self._moved += seconds

    def follow(self, shared: Path) -> None:
        """From now on the time of those who share this file, whatever it was before. ValueError when there is none."""
        if not shared.exists():
            raise ValueError(f"there is no clock {shared}")
        before, self._shared, self._moved = self._shared, SharedClock(shared), 0.0
        if before is not None:
            before.close()
