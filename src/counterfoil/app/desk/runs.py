"""`desk.runs`."""

from collections.abc import Mapping
from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.withheld import run_withheld
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.rules.permissions import Wish
from counterfoil.rules.wishes import about_run


class DeskRuns:
    """As `app.runs`. What the person may not see is not_found; records of a kind that is not read are null and withheld."""

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
        """`{items: [RUN without records], next_cursor}`, newest first, of the workflows that the person sees."""
        with self._sight.look() as look:
            seen = look.filter_workflows
        page = self._noun.list(
            state=state, workflow=workflow, reason=reason, workflows=seen, cursor=cursor, limit=limit
        )
        with self._sight.look() as look:  # a later snapshot than the list's: it holds whatever the list holds
            return page | {"items": [run_withheld(look, look.run_of(each["run_id"]), each) for each in page["items"]]}

    def show(self, run: str) -> dict[str, Any]:
        """RUN with its six records. Raises Refused(not_found, ambiguous_id)."""
        with self._sight.look() as look:
            record = look.run(run)
        view = self._noun.show(record.run_id)
        with self._sight.look() as look:
            return run_withheld(look, record, view)

    async def submit(self, workflow: str, input: Any, *, request_id: str) -> dict[str, Any]:
        """Submit a run in the person's name. A workflow that is not seen and may not be submitted to is unknown."""
        with self._sight.look() as look:
            wish = Wish(Act.SUBMIT, workflow)
            seen = look.filter_workflows
            if not look.may(wish) and seen is not None and workflow not in seen:
                raise Refused("unknown_workflow", name=workflow, known=", ".join(seen) or "none")
            look.must(wish)
        return await self._noun.submit(workflow, input, request_id=request_id, by=self._sight.actor)

    async def cancel(self, run: str, *, reason: str = "") -> dict[str, Any]:
        """Withdraw the wish: nothing more is sent."""
        return await self._noun.cancel(self._may(run, Act.CANCEL), by=self._sight.actor, reason=reason)

    async def resume(
        self, run: str, *, raises: Mapping[str, str | int] | None = None, reason: str = ""
    ) -> dict[str, Any]:
        """Move a parked run on; with `raises`, under higher limits. `reason`: why, which is recorded."""
        run_id = self._may(run, Act.RAISE if raises else Act.RESUME)
        return await self._noun.resume(run_id, by=self._sight.actor, raises=raises, reason=reason)

    async def retry(self, run: str) -> dict[str, Any]:
        """Take up a failed run."""
        return await self._noun.retry(self._may(run, Act.RETRY), by=self._sight.actor)

    def _may(self, run: str, act: Act) -> str:
        with self._sight.look() as look:
            record = look.run(run)
            look.must(about_run(act, record))
        return record.run_id
