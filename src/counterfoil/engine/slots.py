"""How many runs are driven at once: a place is taken when a run is claimed, and given up when nobody drives it any more.

A slot belongs to a run that is running. A worker that dies leaves its run running, which is claimed again with its slots; so
nothing is counted twice, and nothing leaks. A run that finds no room is held: it is shown, and taken up when there is room.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.definitions import Workflow
from counterfoil.engine.waking import waited
from counterfoil.model.codec import compact, parsed
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord, RunState
from counterfoil.model.slots import SlotRecord, partition_pool, waits_for_slot, workflow_pool
from counterfoil.store.port import Read
from counterfoil.store.records import changed
from counterfoil.store.transaction import Transaction

LOOK_US = 60 * 1_000_000  # a held run is looked at again so late, should nobody have taken it up


@dataclass(frozen=True, slots=True)
class Pool:
    """What many runs share, and how many of them are driven at once."""

    name: str
    limit: int


def pools_of(run: RunRecord, workflow: Workflow[Any, Any] | None) -> tuple[Pool, ...]:
    """The pools in which a run takes a place, as the code at hand declares them. A cancelled run needs none."""
    if workflow is None or run.cancel_asked:
        return ()
    pools: list[Pool] = []
    if workflow.concurrency is not None:
        pools.append(Pool(workflow_pool(workflow.name), workflow.concurrency))
    if (partition := workflow.partition) is not None:
        given: dict[str, Any] = parsed(run.input)  # an object: its field was looked for when it was declared
        value: Any = given.get(partition.field)
        name = partition_pool(workflow.name, partition.field, value if isinstance(value, str) else compact(value))
        pools.append(Pool(name, partition.concurrency))
    return tuple(pools)


def pool_reads(pools: Sequence[Pool]) -> list[Read]:
    """What `full` looks at."""
    return [Read.by(SlotRecord, "pool", pool.name) for pool in pools]


def full(tx: Transaction, run: RunRecord, pools: Sequence[Pool]) -> Pool | None:
    """The first pool without room for this run. One that runs already has its place, whatever was declared meanwhile."""
    if run.state is RunState.RUNNING:
        return None
    return next((pool for pool in pools if len(_others(tx, run, pool)) >= pool.limit), None)


def take(tx: Transaction, run: RunRecord, pools: Sequence[Pool]) -> str | None:
    """Take a place in each pool, and give up what an earlier declaration asked for. Gives what the run remembers of it."""
    _give_up(tx, run, _had(run) - {pool.name for pool in pools})
    for pool in pools:
        tx.put(SlotRecord(pool.name, run.run_id, run.run_id, None))
    return json.dumps([pool.name for pool in pools]) if pools else None


def release(tx: Transaction, run: RunRecord) -> None:
    """Nobody drives it any more."""
    _give_up(tx, run, _had(run))


def hold(tx: Transaction, run: RunRecord, pool: Pool) -> None:
    """It stays as it is, and says for what it waits. An entry once; its deadline moves on while it is held."""
    owner: dict[str, Any] = parsed(run.budget)["owner"]
    within: int = owner["within_us"]
    # Whatever it waited for before is over, a person's answer too: that time ends here.
    held = changed(
        waited(run, tx.now), held_for=pool.name, due_at=tx.now + LOOK_US,
        reason="slot" if run.state is RunState.WAITING else run.reason, owner=owner["name"], owner_then=owner["then"],
    )  # fmt: skip
    sentence = waits_for_slot(pool.name, pool.limit, pool.limit)
    left = (run.deadline_at or 0) - tx.now
    if changed(held, due_at=run.due_at) == run and run.sentence == sentence and left > within // 2:
        tx.put(held)
        return
    deadline = tx.now + within
    tx.put(changed(held, sentence=sentence, deadline_at=deadline))
    wait = {"kind": "slot", "id": pool.name, "since_at": tx.now, "deadline_at": deadline}
    tx.append(run.run_id, EntryKind.SUSPENDED, data={"waits": [wait], "held": sentence})


def _had(run: RunRecord) -> set[str]:
    return set[str]() if run.state is not RunState.RUNNING or run.slots is None else set[str](parsed(run.slots))


def _give_up(tx: Transaction, run: RunRecord, pools: set[str]) -> None:
    for name in sorted(pools):
        tx.drop(SlotRecord, name, run.run_id)


def _others(tx: Transaction, run: RunRecord, pool: Pool) -> list[SlotRecord]:
    return [slot for slot in tx.find(SlotRecord, "pool", pool.name) if slot.holder != run.run_id]
