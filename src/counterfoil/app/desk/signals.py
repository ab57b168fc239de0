"""`desk.signals`."""

from typing import Any

from counterfoil.app.desk.sight import Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.model.access import Act, RecordKind
from counterfoil.rules.wishes import about_run

_KINDS = {"payload": RecordKind.PAYLOADS}


class DeskSignals:
    """As `app.signals`. What the person may not see is not_found; payloads that are not read are withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.signals

    def list(self, *, run: str | None = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first, of the workflows that the person sees."""
        with self._sight.look() as look:
            run_id = None if run is None else look.run(run).run_id
            # A run that was named is seen, also where only its owner sees it.
            workflows = look.filter_workflows if run is None else None
        page = self._noun.list(run=run_id, workflows=workflows, cursor=cursor, limit=limit)
        with self._sight.look() as look:  # a later snapshot than the list's: it holds whatever the list holds
            return page | {"items": [_withheld(look, each) for each in page["items"]]}

    async def send(self, run: str, name: str, payload: Any, *, signal_id: str) -> dict[str, Any]:
        """Store a signal, in the person's name."""
        with self._sight.look() as look:
            record = look.run(run)
            look.must(about_run(Act.SIGNAL, record))
        return await self._noun.send(record.run_id, name, payload, signal_id=signal_id, by=self._sight.actor)


def _withheld(look: Look, view: dict[str, Any]) -> dict[str, Any]:
    run = look.run_of(view["run_id"])
    return without(view, _KINDS, lambda kind: look.reads_run(kind, run))
