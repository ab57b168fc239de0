"""What a worker looks for: what is due of the versions that it has, and what waited for room there."""

from collections.abc import Collection
from dataclasses import dataclass

from counterfoil.engine.definitions import Registry
from counterfoil.engine.held import has_room, may_go_on, paused_by_person
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Reader

ELSEWHERE = 50  # due runs of versions that are not here, looked at in one look
MOST_PASSED = 1000  # and between two heartbeats


@dataclass(frozen=True, slots=True)
class Sought:
    """`names`: versions, as `refund/3`. `only`: these runs, and no others are ever read."""

    registry: Registry
    names: frozenset[str]
    only: frozenset[str] | None

    def found(self, reader: Reader, now: int, free: int, passed: Collection[str]) -> list[RunRecord]:
        """Runs to take up: first those that waited for room, then what is due, the longest first.

        `free`: how many the worker can drive more. Those that are `passed` it drives already, or cannot take now: they stand in
        nobody's way. Of versions that are not here some are looked at as well: somebody must see that nobody takes them.
        """
        if self.only is not None:
            return [run for run in self._own(reader, passed) if self._may_go_on(reader, run, now)]
        held = may_go_on(reader, self.registry, self.names, now, free, passed)
        ids = reader.due.of(self.names, now, free + len(passed))
        if len(passed) < MOST_PASSED:
            ids += reader.due.elsewhere(self.names, now, len(passed) + ELSEWHERE)
        without = {run.run_id for run in held}.union(passed)
        due = [reader.get(RunRecord, run_id) for run_id in ids if run_id not in without]
        return held + [run for run in due if run is not None]

    def anything(self, reader: Reader, now: int, passed: Collection[str]) -> bool:
        """Whether something is due, or waits for room and then goes on here."""
        if self.only is not None:
            return any(_due(run, now) for run in self._own(reader, passed))
        if reader.due.of(self.names, now, 1):
            return True
        pools = (pool for pool in reader.due.held_pools() if not paused_by_person(reader, pool))
        return any(reader.due.held_for(pool, self.names, 1) for pool in pools)

    def _own(self, reader: Reader, passed: Collection[str]) -> list[RunRecord]:
        runs = [reader.get(RunRecord, run_id) for run_id in sorted((self.only or frozenset()).difference(passed))]
        return [run for run in runs if run is not None]

    def _may_go_on(self, reader: Reader, run: RunRecord, now: int) -> bool:
        waits = run.held_for is not None and run.state in (RunState.PENDING, RunState.WAITING)
        return _due(run, now) or (waits and has_room(reader, self.registry, run.held_for or "", now))


def _due(run: RunRecord, now: int) -> bool:
    return run.due_at is not None and run.due_at <= now and (run.lease_until or 0) <= now
