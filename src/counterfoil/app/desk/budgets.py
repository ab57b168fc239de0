"""`desk.budgets`: what runs share."""

from collections.abc import Mapping
from typing import Any

from counterfoil.app.desk.sight import EVERYWHERE, Look, Sight
from counterfoil.app.finding import known_id
from counterfoil.model.access import Act
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.wishes import about_budget, about_installation


class DeskBudgets:
    """As `app.budgets`. Seen by whoever sees every run, administers, or may raise that budget: its owner, as a rule."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.budgets

    def list(self, *, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [BUDGET], next_cursor}`, the newest first, with what the person sees of this part."""
        page = self._noun.list(cursor=cursor, limit=limit)
        with self._sight.look() as look:
            return page | {"items": [each for each in page["items"] if _sees(look, each["budget_id"])]}

    def show(self, budget: str) -> dict[str, Any]:
        """BUDGET with `may_raise`."""
        budget_id = self._seen(budget)
        shown = self._noun.show(budget_id)
        with self._sight.look() as look:
            return shown | {"may_raise": _may_raise(look, budget_id)}

    async def lift(self, budget: str, *, reason: str, raises: Mapping[str, str | int]) -> dict[str, Any]:
        """BUDGET with higher limits, in the person's name. Raises as `app.budgets.lift`."""
        return await self._noun.lift(self._seen(budget), by=self._sight.actor, reason=reason, raises=raises)

    def _seen(self, budget: str) -> str:
        with self._sight.look() as look:
            budget_id = known_id(look.reader, "budget", budget)
            if not _sees(look, budget_id):
                raise Refused("not_found", what="budget", id=budget)
        return budget_id


def _sees(look: Look, budget_id: str) -> bool:
    everything = EVERYWHERE in look.places or look.may(about_installation(Act.ADMINISTER))
    return everything or _may_raise(look, budget_id)


def _may_raise(look: Look, budget_id: str) -> bool:
    row = look.reader.get(BudgetRecord, budget_id)
    return row is not None and look.may(about_budget(Act.RAISE, row))
