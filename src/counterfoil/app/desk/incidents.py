"""`desk.incidents`."""

from typing import Any

from counterfoil.app.desk.sight import Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.model.access import Act, RecordKind
from counterfoil.rules.wishes import about_operation

_KINDS = {"evidence": RecordKind.RECEIPTS}


class DeskIncidents:
    """As `app.incidents`. What the person may not see is not_found; evidence that is not read is withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.incidents

    def list(self, *, open_only: bool = False, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first, where the person sees."""
        with self._sight.look() as look:
            places = look.filter_places
        page = self._noun.list(open_only=open_only, places=places, cursor=cursor, limit=limit)
        with self._sight.look() as look:  # a later snapshot than the list's: it holds whatever the list holds
            return page | {"items": [_withheld(look, each) for each in page["items"]]}

    def show(self, incident: str) -> dict[str, Any]:
        """One of them. Raises Refused(not_found, ambiguous_id)."""
        with self._sight.look() as look:
            record, _, _ = look.incident(incident)
        view = self._noun.show(record.incident_id)
        with self._sight.look() as look:
            return _withheld(look, view)

    async def close(self, incident: str, *, reason: str) -> dict[str, Any]:
        """Say that its evidence is weighed, in the person's name."""
        with self._sight.look() as look:
            record, operation, run = look.incident(incident)
            look.must(about_operation(Act.CLOSE_INCIDENT, operation, run))
        closed = await self._noun.close(record.incident_id, by=self._sight.actor, reason=reason)
        with self._sight.look() as look:
            return _withheld(look, closed)


def _withheld(look: Look, view: dict[str, Any]) -> dict[str, Any]:
    operation, run = look.operation_of(view["operation_id"])
    return without(view, _KINDS, lambda kind: look.reads_operation(kind, operation, run))
