"""What only a person moves: the reasons under which a run is parked once everything else stands still."""

from dataclasses import dataclass
from typing import Any

from counterfoil.engine.budgets import Spent
from counterfoil.model.drill import Covered
from counterfoil.model.run import ParkReason


@dataclass(frozen=True, slots=True)
class Demand:
    """Something that only a person moves: the reason under which the run is parked once everything else stands still."""

    reason: ParkReason
    detail: str
    owner: dict[str, Any]
    undrilled: Covered | None = None  # what a drill or a waiver must cover first
    spent: Spent | None = None  # the budget that is spent


class Demands:
    """Each demand by who makes it, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[str, Demand] = {}

    def note(self, key: str, demand: Demand | None) -> None:
        """Note what a person must move, or that it is over."""
        if demand is None:
            self._open.pop(key, None)
        else:
            self._open[key] = demand

    def first(self) -> Demand | None:
        """The one that the run is parked for; the others come up when it is moved."""
        return next(iter(self._open.values()), None)
