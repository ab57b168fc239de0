"""What a worker takes up: the runs whose code it has, and those that wait for room in a pool."""

from collections.abc import Collection
from typing import Protocol


class DueReader(Protocol):
    """Asked at every look of every worker, so by index only. A version is named `refund/3`."""

    def any(self, now: int, limit: int) -> list[str]:
        """Ids of runs whose `due_at` has come and that no living lease holds, the longest due first."""
        ...

    def next(self) -> int | None:
        """The earliest `due_at` of all runs, in microseconds."""
        ...

    def of(self, versions: Collection[str], now: int, limit: int) -> list[str]:
        """As `any`, of these versions alone."""
        ...

    def elsewhere(self, versions: Collection[str], now: int, limit: int) -> list[str]:
        """As `any`, of all other versions."""
        ...

    def held_pools(self) -> list[str]:
        """The pools for which runs wait."""
        ...

    def held_for(self, pool: str, versions: Collection[str], limit: int) -> list[str]:
        """Ids of runs of these versions that wait for room in a pool, the longest first."""
        ...

    def held_count(self, pool: str, limit: int) -> int:
        """How many runs wait for a pool, whatever their version; not counted beyond `limit`."""
        ...
