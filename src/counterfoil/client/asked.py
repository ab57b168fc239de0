"""`client.decisions`: what models answered, and what that used and cost."""

from counterfoil.client.calls import Calls, part
from counterfoil.client.shapes.decision import Decisions, DecisionShown, Usage


class ClientDecisions:
    """A decision is named as `run-3/7`: by its run and the entry in it."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, workflow: str | None = None, agent: str | None = None, since: str | None = None,
        verdict: str | None = None, conversation: str | None = None, limit: int = 50,
    ) -> Decisions:  # fmt: skip
        """The newest that fit. `since`: a day in UTC, or an RFC 3339 time. Raises Refused(usage)."""
        return await self._calls.read(
            "/decisions", Decisions, workflow=workflow, agent=agent, since=since, verdict=verdict,
            conversation=conversation, limit=limit,
        )  # fmt: skip

    async def show(self, decision: str) -> DecisionShown:
        """One of them, with what was asked and what was answered. Raises Refused(not_found)."""
        run, _, sequence = decision.rpartition("/")
        return await self._calls.read(f"/decisions/{part(run)}/{part(sequence)}", DecisionShown)

    async def usage(
        self, *, by: str = "model", workflow: str | None = None, agent: str | None = None, since: str | None = None,
        conversation: str | None = None,
    ) -> Usage:  # fmt: skip
        """Sums by model, agent, workflow, conversation, day or tool. Raises Refused(usage)."""
        return await self._calls.read(
            "/decisions/usage", Usage, by=by, workflow=workflow, agent=agent, since=since, conversation=conversation
        )
