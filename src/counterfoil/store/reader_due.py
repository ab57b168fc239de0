"""What a worker takes up, asked in SQL."""

from collections.abc import Collection

from counterfoil.model.codec import compact
from counterfoil.store.questions import Questions


class SqlDue:
    """`reader.due`."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def any(self, now: int, limit: int) -> list[str]:
        """Runs to take up, the longest due first."""
        return self._ids("claimable", now=now, limit=limit)

    def next(self) -> int | None:
        """When the next run is due."""
        return self._questions.ask("next_due").get

    def of(self, versions: Collection[str], now: int, limit: int) -> list[str]:
        """Runs of these versions to take up."""
        return self._ids("claimable_of", now=now, limit=limit, versions=compact(sorted(versions)))

    def elsewhere(self, versions: Collection[str], now: int, limit: int) -> list[str]:
        """The same of all other versions."""
        return self._ids("claimable_elsewhere", now=now, limit=limit, versions=compact(sorted(versions)))

    def held_pools(self) -> list[str]:
        """The pools for which runs wait."""
        return self._ids("held_pools")

    def held_for(self, pool: str, versions: Collection[str], limit: int) -> list[str]:
        """Runs of these versions that wait for a pool, the longest first."""
        return self._ids("held_for", pool=pool, limit=limit, versions=compact(sorted(versions)))

    def held_count(self, pool: str, limit: int) -> int:
        """How many runs wait for a pool, whatever their version; not counted beyond `limit`."""
        found: int = self._questions.ask("count_held", {"pool": pool, "limit": limit}).get
        return found

    def _ids(self, name: str, **asked: str | int) -> list[str]:
        return [row[0] for row in self._questions.ask(name, asked)]
