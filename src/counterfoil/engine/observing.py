"""What a process is told about its own commits: how long each took, and the entries it made durable.

The observers of the entries are somebody else's: nothing here knows of a log, a metric or a trace.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from counterfoil.model.journal import Entry
from counterfoil.model.metrics import COMMIT_BOUNDS_US

EntriesObserver = Callable[[Sequence[Entry]], None]


@dataclass(slots=True)
class Commits:
    """How long the COMMITs of this process took. Written by the writer's thread alone; whoever reads copies."""

    now_us: Callable[[], int]
    counts: list[int] = field(default_factory=lambda: [0] * (len(COMMIT_BOUNDS_US) + 1))
    total_us: int = 0
    _began: int = 0

    def begin(self) -> None:
        """Directly before a COMMIT."""
        self._began = self.now_us()

    def end(self) -> None:
        """Directly after it: it is durable."""
        took = self.now_us() - self._began
        self.counts[bisect_left(COMMIT_BOUNDS_US, took)] += 1
        self.total_us += took


@dataclass(slots=True)
class Observers:
    """Told in the writer's thread, after the COMMIT, before whoever asked is answered: they must be quick and raise nothing."""

    of_entries: list[EntriesObserver] = field(default_factory=lambda: [])

    def committed(self, entries: Sequence[Entry]) -> None:
        """Hand on the entries of one commit."""
        for observer in self.of_entries:
            observer(entries)
