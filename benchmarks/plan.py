"""How much is measured. The tests measure little; a person who runs the benchmarks measures all of it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """`scale` 1 is the full size; smaller shortens every workload and leaves its shape."""

    rounds: int = 5
    scale: float = 1.0

    def sized(self, full: int, *, least: int = 1) -> int:
        """So many of something at this scale."""
        return max(least, round(full * self.scale))

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder on the disk that is measured, removed at the end."""
        with tempfile.TemporaryDirectory(prefix="counterfoil-bench-") as folder:
            yield Path(folder)
