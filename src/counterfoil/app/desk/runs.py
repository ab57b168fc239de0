"""`desk.runs`."""

from collections.abc import Mapping
from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskRuns:
    """As `app.runs`; what is not readable is not_found."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.runs

    def list(
        self,
        *,
        state: str | None = None,
        workflow: str | None = None,
        reason: str | None = None,
        cursor: int | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """`{items: [RUN without records], next_cursor}`, newest first."""
        return self._noun.list(state=state, workflow=workflow, reason=reason, cursor=cursor, limit=limit)

    def show(self, run: str) -> dict[str, Any]:
        """RUN with its six records."""
        return self._noun.show(run)

    async def submit(self, workflow: str, input: Any, *, request_id: str) -> dict[str, Any]:
        """Submit a run in the person's name."""
        return await self._noun.submit(workflow, input, request_id=request_id, by=self._sight.actor)

    async def cancel(self, run: str, *, reason: str = "") -> dict[str, Any]:
        """Withdraw the wish: nothing more is sent."""
        return await self._noun.cancel(run, by=self._sight.actor, reason=reason)

    async def resume(self, run: str, *, raises: Mapping[str, str | int] | None = None) -> dict[str, Any]:
        """Move a parked run on; with `raises`, under higher limits."""
        return await self._noun.resume(run, by=self._sight.actor, raises=raises)

    async def retry(self, run: str) -> dict[str, Any]:
        """Take up a failed run."""
        return await self._noun.retry(run, by=self._sight.actor)
