"""The verb of a sweep: which closed operations are counted at their receivers, and how far that came. No evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model.delivery import SweepRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class KeepSweeps(RunVerb):
    """`run_id` is the duty's name. Of two who counted the same operation the later question stands. Gives how many changed."""

    rows: tuple[SweepRecord, ...]
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return [Read.key(SweepRecord, row.operation_id) for row in self.rows]

    def decide(self, tx: Transaction) -> int:
        changed = 0
        for row in self.rows:
            known = tx.get(SweepRecord, row.operation_id)
            if known is None or (row.asked_at or 0) > (known.asked_at or 0):
                tx.put(row)
                changed += 1
        return changed
