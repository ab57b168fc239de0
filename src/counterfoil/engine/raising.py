"""A person lets more be used of a shared budget, and says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.codec import compact, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import BUDGET_REASONS, RunRecord, RunState
from counterfoil.rules.budget import in_force
from counterfoil.rules.wishes import about_budget
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class RaiseBudget(RunVerb):
    """Higher limits, by kind, of one budget; the runs that are parked for it go on. `run_id` is the installation's.

    Its owner may, and whoever may raise anywhere. Raises Refused(limit_not_higher, role_missing, not_permitted, usage).
    """

    budget_id: str
    raises: Mapping[str, int]
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        parked = Read.by(RunRecord, "budget_id", self.budget_id)
        return (Read.key(BudgetRecord, self.budget_id), parked, *acting_reads(self.by))

    def decide(self, tx: Transaction) -> BudgetRecord:
        row = tx.must(BudgetRecord, self.budget_id)
        permitted(tx, self.by, about_budget(Act.RAISE, row))
        raised: dict[str, int] = parsed(row.raised)
        limits = in_force(parsed(row.limits), raised)
        for kind, limit in self.raises.items():
            if kind not in limits:
                raise Refused("usage", problem=f"{row.name} has no limit of {kind}; it has {', '.join(limits)}")
            if limit <= limits[kind]:
                raise Refused("limit_not_higher", name=row.name, kind=kind, limit=limits[kind], given=limit)
        higher = replace(row, raised=compact(raised | dict(self.raises)))
        tx.put(higher)
        for run in tx.find(RunRecord, "budget_id", self.budget_id):
            if run.state is RunState.PARKED and run.reason in BUDGET_REASONS:
                wake(tx, run.run_id)
        said = {
            "budget_id": self.budget_id,
            "key": row.key,
            "raises": dict(self.raises),
            "by": self.by,
            "reason": self.reason,
        }
        tx.append(self.run_id, EntryKind.BUDGET, name=row.name, data=said)
        return higher
