"""`desk.signals`."""

from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskSignals:
    """As `app.signals`; what is not readable is not_found."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.signals

    def list(self, *, run: str | None = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first."""
        return self._noun.list(run=run, cursor=cursor, limit=limit)

    async def send(self, run: str, name: str, payload: Any, *, signal_id: str) -> dict[str, Any]:
        """Store a signal, in the person's name."""
        return await self._noun.send(run, name, payload, signal_id=signal_id, by=self._sight.actor)
