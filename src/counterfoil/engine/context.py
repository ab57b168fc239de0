"""The `run` that a workflow is given, implemented by replay. Each call is a function over the execution."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from counterfoil.engine import call_changed, call_decide, call_document, call_perform, call_step, call_wait
from counterfoil.engine.asking import Versions
from counterfoil.engine.call_tool import planned_knowing
from counterfoil.engine.clock import Random, seeded
from counterfoil.engine.execution import Execution
from counterfoil.model.artifact import Artifact
from counterfoil.model.errors import Refused


class _Drawing:
    """Time and chance of a run: a function of what the record gave so far."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def now(self) -> datetime:
        """The time of the newest outcome this branch was given."""
        return datetime.fromtimestamp(self._execution.branch.last_at / 1_000_000, UTC)

    def uuid(self) -> UUID:
        return UUID(int=self._drawn().getrandbits(128), version=4)

    def random(self) -> float:
        return self._drawn().random()

    def _drawn(self) -> Random:
        branch = self._execution.branch
        branch.drawn += 1
        return seeded(f"{self._execution.run.run_id}/{branch.prefix}{branch.number}/{branch.drawn}")


class EmbeddedRun:
    """Implements `engine.port.Run`. `now`, `uuid` and `random` write nothing and are the same at every replay."""

    def __init__(self, execution: Execution) -> None:
        self.execution = self._execution = (
            execution  # the first for the layer of agents, which records calls of its own
        )
        self.id = execution.run.run_id
        drawing = _Drawing(execution)
        self.now = drawing.now
        self.uuid = drawing.uuid
        self.random = drawing.random

    async def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return await call_step.step(self._execution, fn, args, kwargs)

    async def decide(self, agent: Any, input: object, *, prompt_version: str, policy_version: str | None = None) -> Any:
        return await call_decide.decide(self._execution, agent, input, Versions(prompt_version, policy_version))

    async def revise(
        self, agent: Any, input: object, *, prompt_version: str, policy_version: str | None = None, reason: str
    ) -> Any:
        versions = Versions(prompt_version, policy_version)
        return await call_decide.decide(self._execution, agent, input, versions, reason=reason)

    async def propose(
        self, operation: Any, payload: Any, *, replaces: Any = None, sources: Sequence[Artifact] = ()
    ) -> Any:
        return await call_perform.propose(self._execution, operation, payload, replaces, sources)

    async def perform(self, operation: Any, payload: Any) -> Any:
        await planned_knowing(self._execution, operation.name)
        return await call_perform.perform(self._execution, operation, payload)

    async def transact(self, connect: Callable[[], Any], body: Callable[[Any], Any]) -> Any:
        await planned_knowing(self._execution, "a transaction")
        return await call_step.transact(self._execution, connect, body)

    async def wait_for(self, signal: str, type: Any, *, within: timedelta) -> Any:
        return await call_wait.wait_for(self._execution, signal, type, within)

    async def sleep(self, duration: timedelta) -> None:
        await call_wait.sleep(self._execution, duration)

    def timeout(self, duration: timedelta) -> AbstractAsyncContextManager[None]:
        return call_wait.timeout(self._execution, duration)

    async def gather(self, *bodies: Coroutine[Any, Any, Any]) -> list[Any]:
        return await call_wait.gather(self._execution, bodies)

    def branch(self, body: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        return call_wait.branch(self._execution, body)

    async def child(self, workflow: Any, input: Any, *, request_id: str) -> Any:
        await planned_knowing(self._execution, f"the run of {workflow.name}")
        return await call_wait.child(self._execution, workflow, input, request_id)

    async def changed(self, change: str) -> bool:
        return await call_changed.changed(self._execution, change)

    async def message(self, role: Literal["user", "agent"], text: str) -> None:
        await call_wait.message(self._execution, role, text)

    async def document(self, document: Any, body: Any = None, /, *, after: Any = None) -> Any:
        if isinstance(document, str):
            return await call_document.put(self._execution, document, body)
        if body is None:
            return await call_document.read(self._execution, document)
        if after is None:
            raise Refused("usage", problem="a document is written behind the version that was read: after=")
        return await call_document.write(self._execution, document, body, after)
