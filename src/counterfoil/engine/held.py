"""What is held and may go on: for each pool that somebody waits for, as many runs as there is room for."""

from collections.abc import Collection

from counterfoil.engine.definitions import Registry
from counterfoil.engine.tap import paused_text
from counterfoil.model.run import RunRecord
from counterfoil.model.slots import SlotRecord, TapRecord, receiver_pool, workflow_pool
from counterfoil.rules.tap import closed_until, room
from counterfoil.store.port import Reader

AT_ONCE = 64  # of one pool at one look: whoever waits for what has no limit here any more goes on in portions


def may_go_on(
    reader: Reader, registry: Registry, names: Collection[str], now: int, free: int, passed: Collection[str]
) -> list[RunRecord]:
    """Held runs of these versions for which there is room, the longest waiting first in each pool. Whether there is, their
    claims decide.

    `free`: how many this worker can take. Those that are `passed` are left.
    """
    found: list[RunRecord] = []
    for pool in reader.due.held_pools():
        places = min(_places(reader, registry, pool, now), free - len(found))
        if places > 0:
            ids = reader.due.held_for(pool, names, places + len(passed))
            runs = [reader.get(RunRecord, run_id) for run_id in ids if run_id not in passed]
            found += [run for run in runs if run is not None][:places]
    return found


def has_room(reader: Reader, registry: Registry, pool: str, now: int) -> bool:
    """Whether one more may go on."""
    return _places(reader, registry, pool, now) > 0


def _places(reader: Reader, registry: Registry, pool: str, now: int) -> int:
    receiver = next((each for name, each in registry.receivers.items() if receiver_pool(name) == pool), None)
    taken = sum(1 for slot in reader.find(SlotRecord, "pool", pool) if slot.until is None or slot.until > now)
    if receiver is not None:
        tap = reader.get(TapRecord, receiver.name)
        if tap is not None and paused_text(tap, receiver.breaker, now) is not None:
            return 0
        if closed_until(tap, now) is not None:
            return 0
        if tap is not None and receiver.breaker is not None and tap.open_until is not None:
            return 1  # after a pause one tries
        by_rate = AT_ONCE if receiver.rate is None else room(tap, receiver.rate, now)
        return min(by_rate, AT_ONCE if receiver.concurrency is None else receiver.concurrency - taken)
    limit = _limit(registry, pool)
    return AT_ONCE if limit is None else limit - taken


def _limit(registry: Registry, pool: str) -> int | None:
    """What the newest declaration says of a workflow's pool; None: nothing, so nobody waits for it any more."""
    workflows = sorted(registry.workflows.values(), key=lambda workflow: -workflow.version)
    for workflow in workflows:
        if workflow_pool(workflow.name) == pool:
            return workflow.concurrency
        if pool.startswith(f"partition:{workflow.name}:"):
            return None if workflow.partition is None else workflow.partition.concurrency
    return None


def paused_by_person(reader: Reader, pool: str) -> bool:
    """Whether it ends only by a person, and not by itself."""
    return any(tap.paused_at is not None and receiver_pool(tap.receiver) == pool for tap in reader.rows(TapRecord))
