"""The noun `budgets`: what many runs share, how much of it is used, and who lets more be used."""

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.finding import known_id
from counterfoil.app.limits import limits_from
from counterfoil.app.views.budgets import budget_view
from counterfoil.app.views.listing import listed
from counterfoil.app.views.shown import Shown
from counterfoil.engine.opened import Opened
from counterfoil.engine.raising import RaiseBudget
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.errors import Refused


class Budgets:
    """`app.budgets`. A budget is named by its id, a unique prefix, its number, or `budget-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self, *, scope: str | None = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [BUDGET], next_cursor}`, the newest first: what was drawn on at least once. Those of runs are left out
        unless `scope` is run."""
        opened = self._opened()
        with opened.read() as reader:
            page = reader.lists.budgets(scope=scope, before=cursor, limit=limit)
            shown = Shown.of(opened, reader)
            return listed([budget_view(shown, row) for row in page.items], page.next_cursor)

    def show(self, budget: str) -> dict[str, Any]:
        """BUDGET. Raises Refused(not_found, ambiguous_id)."""
        opened = self._opened()
        with opened.read() as reader:
            row = reader.get(BudgetRecord, known_id(reader, "budget", budget))
            assert row is not None, "the id was just found in this snapshot"
            return budget_view(Shown.of(opened, reader), row)

    async def lift(
        self, budget: str, *, by: Actor | str, secret: str = "", reason: str, raises: Mapping[str, str | int]
    ) -> dict[str, Any]:
        """BUDGET with higher limits: `attempts`, `tokens` and `calls:NAME` counts, `elapsed` seconds, `spend` decimal USD.

        The runs that are parked for it go on. Raises Refused: limit_not_higher, not_found, role_missing, wrong_secret, usage.
        """
        limits = limits_from(raises)
        if not limits:
            raise Refused("usage", problem="name at least one limit: --raise KIND=N")
        if not reason.strip():
            raise Refused("usage", problem="raising a budget names its reason")
        opened = self._opened()
        with opened.read() as reader:
            budget_id = known_id(reader, "budget", budget)
            person = proven(reader, by, secret)
        await opened.write(RaiseBudget(opened.installation_id, budget_id, limits, person, reason))
        return self.show(budget_id)
