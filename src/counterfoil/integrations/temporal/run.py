"""The `run` that a workflow is given on Temporal: each call is an activity that asks the ledger, with the same meaning."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol, cast
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from counterfoil.engine.call_decide import agent_name, plain_input
from counterfoil.engine.clock import Random, seeded
from counterfoil.engine.definitions import Operation, Workflow, dumped, loaded, signature_of, step_of
from counterfoil.integrations.temporal.carrying import output_of, proposal_facts, proposal_from
from counterfoil.integrations.temporal.failures import error_of
from counterfoil.integrations.temporal.messages import Call, Input, Said, Wait
from counterfoil.integrations.temporal.references import reference_to
from counterfoil.model.artifact import Artifact
from counterfoil.model.codec import compact
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.proposal import Proposal


@dataclass(eq=False, slots=True)
class Place:
    """A branch: a position space of its own, with one pending call at most."""

    path: str
    last_at: int
    scopes: list[list[Any]] = field(default_factory=lambda: [])
    counts: Counter[str] = field(default_factory=lambda: Counter())
    calls: int = 0
    drawn: int = 0
    pending: bool = False


Waits = Callable[[Wait], Awaitable[None]]  # told what a call waits for
current_place: ContextVar[Place] = ContextVar("current_place")


class Frame(Protocol):
    """What a workflow of Temporal does for its run."""

    run_id: str
    generation: int
    near: Mapping[str, Any]
    root: Place

    def part(self, body: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A branch, which ends with the workflow."""
        ...

    async def ask(self, call: Call, title: str, waits: Waits | None = None) -> Said: ...
    def request_of(self, definition: Workflow[Any, Any], request_id: str) -> str:
        """The request id of a child's run in the ledger."""
        ...

    async def begin_child(self, definition: Workflow[Any, Any], request_id: str, given: Input) -> None:
        """Have the function of a run executed that stands in the ledger."""
        ...


class TemporalRun:
    """Implements `engine.port.Run`. A position is a call's name in its branch and how often it was called there."""

    def __init__(self, frame: Frame) -> None:
        self.id = frame.run_id
        self._frame = frame
        self.told: list[tuple[CounterfoilError, int | None]] = []  # each failure, with the entry that says so
        self.now: Callable[[], datetime] = self._now
        self.uuid: Callable[[], UUID] = self._uuid
        self.changed: Callable[[str], Awaitable[bool]] = self._changed
        self.random: Callable[[], float] = self._random

    # ------------------------------------------------------------------ time and chance

    def _now(self) -> datetime:
        """The time of the newest outcome this branch was given, as in the embedded engine: a reset does not change it."""
        return datetime.fromtimestamp(self._place.last_at / 1_000_000, UTC)

    def _uuid(self) -> UUID:
        return UUID(int=self._chance().getrandbits(128), version=4)

    def _random(self) -> float:
        return self._chance().random()

    def _chance(self) -> Random:
        place = self._place
        place.drawn += 1
        return seeded(f"{self.id}/{place.path}{place.calls}/{place.drawn}")

    # ------------------------------------------------------------------ calls

    async def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        signature = signature_of(fn)
        names = [name for name, _ in signature.inputs]
        given = dict(zip(names, args, strict=False)) | kwargs
        inputs = {name: dumped(adapter, given[name], where=name) for name, adapter in signature.inputs if name in given}
        name = step_of(fn).name
        function = reference_to(fn, self._frame.near, what=f"The step {name}")
        value = await self._asked("step", name, {"function": function, "inputs": inputs})
        return loaded(signature.result, value, where=f"the result of {name}")

    async def decide(self, agent: Any, input: object, *, prompt_version: str, policy_version: str | None = None) -> Any:
        return await self._decided(agent, input, {"prompt_version": prompt_version, "policy_version": policy_version})

    async def revise(
        self, agent: Any, input: object, *, prompt_version: str, policy_version: str | None = None, reason: str
    ) -> Any:
        versions = {"prompt_version": prompt_version, "policy_version": policy_version}
        return await self._decided(agent, input, versions, {"reason": reason})

    async def _decided(
        self, agent: Any, given: object, versions: dict[str, Any], more: dict[str, Any] | None = None
    ) -> Any:
        name = agent_name(agent)
        asked = {"agent": reference_to(agent, self._frame.near, what=f"The agent {name}"), "input": plain_input(given)}
        value = await self._asked("decide", f"decide {name}", asked | {"versions": versions} | (more or {}))
        return loaded(output_of(agent), value, where=f"the decision of {name}")

    async def propose(
        self,
        operation: Operation[Any, Any],
        payload: Any,
        *,
        replaces: Proposal[Any, Any] | None = None,
        sources: Sequence[Artifact] = (),
    ) -> Any:
        adapter = signature_of(operation.function, skip=1).inputs[0][1]
        plain = dumped(adapter, payload, where=f"the payload of {operation.name}")
        asked = {
            "operation": operation.name, "payload": plain, "replaces": None if replaces is None else proposal_facts(replaces),
            "sources": [source.model_dump(mode="json") for source in sources],
        }  # fmt: skip
        facts = await self._asked("propose", operation.name, asked)
        typed = loaded(adapter, plain, where=f"the payload of {operation.name}")
        return proposal_from(operation, typed, facts)

    async def perform(self, operation: Operation[Any, Any], payload: Any) -> Any:
        signature = signature_of(operation.function, skip=1)
        proposal = None
        if isinstance(payload, Proposal):
            proposed = cast("Proposal[Any, Any]", payload)
            proposal, payload = proposal_facts(proposed), proposed.payload
        plain = dumped(signature.inputs[0][1], payload, where=f"the payload of {operation.name}")
        asked = {"operation": operation.name, "payload": plain, "proposal": proposal}
        value = await self._asked("perform", operation.name, asked)
        return loaded(signature.result, value, where=f"the receipt of {operation.name}")

    async def transact(self, connect: Callable[[], Any], body: Callable[[Any], Any]) -> Any:
        near, name = self._frame.near, getattr(body, "__qualname__", "body").rpartition(".")[2]
        asked = {
            "connect": reference_to(connect, near, what="The connection of a transaction"),
            "body": reference_to(body, near, what=f"The transaction {name}"),
        }
        return await self._asked("transact", f"transact {name}", asked)

    async def wait_for(self, signal: str, type: Any, *, within: timedelta) -> Any:
        wanted = reference_to(type, self._frame.near, what=f"The type of the signal {signal}")
        asked = {"signal": signal, "type": wanted, "within_us": _us(within)}
        value = await self._asked("wait_for", f"wait_for {signal}", asked)
        return loaded(TypeAdapter(type), value, where=f"the signal {signal}")

    async def sleep(self, duration: timedelta) -> None:
        await self._asked("sleep", "sleep", {"within_us": _us(duration)})

    def timeout(self, duration: timedelta) -> AbstractAsyncContextManager[None]:
        return self._timeout(duration)

    @asynccontextmanager
    async def _timeout(self, duration: timedelta) -> AsyncGenerator[None]:
        scope = await self._asked("timeout", "timeout", {"within_us": _us(duration)})
        place = self._place
        place.scopes.append(scope)
        try:
            yield
        finally:
            place.scopes.remove(scope)

    async def child(self, workflow: Workflow[Any, Any], input: Any, *, request_id: str) -> Any:
        signature = signature_of(workflow.function, skip=1)
        plain = dumped(signature.inputs[0][1], input, where=f"the input of {workflow.name}")
        stored = self._frame.request_of(workflow, request_id)
        asked = {"workflow": workflow.name, "version": workflow.version, "input": plain, "request_id": stored}
        name = f"child {workflow.name}"
        parent = [self.id, self._next(name)]
        begun = False

        async def waits(wait: Wait) -> None:
            # The ledger is asked first: it holds the child by now, as this run's, and says whether there is anything to execute.
            nonlocal begun
            if wait.kind == "child" and not begun:
                begun = True
                await self._frame.begin_child(workflow, request_id, Input(plain, submitted=True, parent=parent))

        value = await self._asked("child", name, asked, waits)
        return loaded(signature.result, value, where=f"the result of {workflow.name}")

    async def _changed(self, change: str) -> bool:
        # Temporal's own marker holds for one execution; what goes on in a new one is executed from the top, and would change its way.
        raise Refused("not_on_temporal", what="run.changed")

    async def message(self, role: Literal["user", "agent"], text: str) -> None:
        await self._asked("message", "message", {"role": role, "text": text})

    async def document(self, document: Any, body: Any = None, /, *, after: Any = None) -> Any:
        if not isinstance(document, str) or after is not None:
            raise Refused("not_on_temporal", what="A declared document")
        text = compact(body.model_dump(mode="json")) if isinstance(body, BaseModel) else str(body)
        await self._asked("document", document, {"name": document, "text": text})

    # ------------------------------------------------------------------ branches

    async def gather(self, *bodies: Coroutine[Any, Any, Any]) -> list[Any]:
        position = self._position("gather")
        parts = [self._branch(f"{position}.{n}/", body) for n, body in enumerate(bodies)]
        if parts:
            await asyncio.wait(parts)
        return [part.result() for part in parts]

    def branch(self, body: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        return _Joined(self._branch(f"{self._position('branch')}.0/", body))

    def _branch(self, path: str, body: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        place = Place(path, self._place.last_at, list(self._place.scopes))

        async def within() -> Any:
            current_place.set(place)
            return await body

        return self._frame.part(within())

    # ------------------------------------------------------------------ asking

    @property
    def _place(self) -> Place:
        return current_place.get(self._frame.root)

    def _position(self, name: str) -> str:
        place, position = self._place, self._next(name)
        if place.pending:
            raise Refused("concurrent_calls")
        place.calls += 1
        place.drawn = 0
        place.counts[name] += 1
        return position

    def _next(self, name: str) -> str:
        place = self._place
        return f"{place.path}{name}#{place.counts[name] + 1}"

    async def _asked(self, kind: str, name: str, arguments: dict[str, Any], waits: Waits | None = None) -> Any:
        place = self._place
        number = int(self._position(name).rpartition("#")[2])
        prefix = f"{place.path}{name}#"
        frame = self._frame
        scopes = [list(scope) for scope in place.scopes]
        call = Call(kind, frame.run_id, frame.generation, prefix, number, place.last_at, arguments, scopes)
        place.pending = True
        try:
            said = await frame.ask(call, f"{name} #{number}", waits)
        finally:
            place.pending = False
        place.last_at = max(place.last_at, said.at or 0)
        if said.state == "failed":
            error = error_of(said.failure or {})
            self.told.append((error, said.sequence))
            raise error
        return said.value

    def sequence_of(self, error: BaseException) -> int | None:
        """The entry that says so; None for a failure that the workflow made itself."""
        return next((sequence for known, sequence in reversed(self.told) if known is error), None)


class _Joined:
    """A branch that runs already. Awaiting it gives its result."""

    def __init__(self, part: "asyncio.Task[Any]") -> None:
        self._part = part

    def __await__(self) -> Generator[Any, None, Any]:
        return self._part.__await__()


def _us(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
