"""What a server has been asked: counters, the newest requests, and waiting for the next one without sleeping."""

import threading
from collections import deque
from collections.abc import Mapping

KEPT = 10_000
"""Requests kept in memory; the counters go on."""


class Traffic:
    """Counts requests of one server and wakes who waits for them. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._counts: dict[str, int] = {}
        self._log: deque[dict[str, object]] = deque(maxlen=KEPT)

    def count(self, *names: str) -> int:
        """Raise the named counters by one; the new value of the first."""
        with self._changed:
            for name in names:
                self._counts[name] = self._counts.get(name, 0) + 1
            self._changed.notify_all()
            return self._counts[names[0]]

    def note(self, entry: Mapping[str, object]) -> None:
        """Keep what is known of one request."""
        with self._changed:
            self._log.append(dict(entry))

    def value(self, name: str) -> int:
        """A counter's value."""
        with self._changed:
            return self._counts.get(name, 0)

    def wait_for(self, name: str, value: int, *, seconds: float) -> bool:
        """Wait until a counter has reached a value; False if it has not within the time given."""
        with self._changed:
            return self._changed.wait_for(lambda: self._counts.get(name, 0) >= value, timeout=seconds)

    def log(self) -> list[dict[str, object]]:
        """The newest requests, oldest first."""
        with self._changed:
            return list(self._log)
