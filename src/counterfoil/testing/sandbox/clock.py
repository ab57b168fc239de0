"""The sandbox's clock: the host's, moved forward on demand, so that a window of a day can end in a test."""

import time


class SandboxClock:
    """Seconds since 1970, plus everything it was moved by."""

    def __init__(self) -> None:
        self._moved = 0.0

    def now(self) -> float:
        """The time in force."""
        return time.time() + self._moved

    def advance(self, seconds: float) -> None:
        """Move forward. ValueError for a step back."""
        if seconds < 0:
            raise ValueError("the sandbox's clock only moves forward")
        self._moved += seconds
