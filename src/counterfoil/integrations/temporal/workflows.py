"""A class of Temporal for each workflow of the application: it executes the same function, and asks the ledger for each call.

Nothing here reads a clock, chance, the network or the database: Temporal replays it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy, SearchAttributeKey, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from counterfoil.engine.definitions import Registry, Workflow, dumped, loaded, signature_of
from counterfoil.engine.runner import failure_facts
from counterfoil.integrations.temporal.activities import BEGIN, END, FIRST, RECALL, STORE, activity_of
from counterfoil.integrations.temporal.failures import facts_of
from counterfoil.integrations.temporal.hand import WAKE
from counterfoil.integrations.temporal.identity import SEARCH_ATTRIBUTE, type_name, workflow_id_for
from counterfoil.integrations.temporal.messages import Begin, Begun, Call, End, Incoming, Input, Recall, Said, Wait
from counterfoil.integrations.temporal.recalling import asks_the_same
from counterfoil.integrations.temporal.run import Place, TemporalRun, current_place
from counterfoil.model.codec import BODY_LIMIT, compact, payload_digest
from counterfoil.model.errors import Refused, StepFailed
from counterfoil.model.origin import Origin

RUN = SearchAttributeKey.for_keyword(SEARCH_ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long Temporal waits. `longest`: for one activity; `heartbeat`: for a sign of life; `look_again`: before a call that
    waits is asked again though nobody said that anything moved."""

    longest: timedelta = timedelta(hours=1)
    heartbeat: timedelta = timedelta(seconds=10)
    look_again: timedelta = timedelta(hours=1)
    history: int = 0  # events after which a workflow continues as new; 0: when Temporal suggests it


class _Over(BaseException):
    """The ledger says that nothing more of this run is done."""


class Executed:
    """One execution of a workflow. The classes that `classes_for` makes hold the definition; all else is here."""

    definition: Workflow[Any, Any]
    registry: Registry
    patience: Patience

    def __init__(self) -> None:
        self.run_id = ""
        self.generation = 0
        self.near: Mapping[str, Any] = self.definition.function.__globals__
        self.root = Place("", 0)
        self._moved = 0
        self._signals = 0
        self._standing: dict[int, Wait] = {}
        self._known: dict[str, Said] = {}
        self._asking = 0
        self._long = False
        self._over = False
        self._calls = 0

    # ------------------------------------------------------------------ from the first call to the end

    async def execute(self, given: Input) -> Any:
        """The workflow's main function."""
        info = workflow.info()
        if info.cron_schedule:
            problem = (
                "A cron workflow runs under one identity each time. Use a schedule of Temporal, which starts a new one."
            )
            raise ApplicationError(problem, type="temporal_cron", non_retryable=True)
        self.generation = given.generation
        begun = await self._begun(info, given)
        self.run_id, self.root.last_at = begun.run_id, begun.created_at
        await self._recall(begun)
        # The SDK types neither of the two wholly.
        workflow.upsert_search_attributes([RUN.value_set(self.run_id)])  # pyright: ignore[reportUnknownMemberType]
        workflow.set_dynamic_signal_handler(self._signal)  # pyright: ignore[reportUnknownMemberType]
        body = asyncio.create_task(self._function(given.input))
        try:
            await workflow.wait_condition(lambda: body.done() or (self._long and not self._asking))
            end = body.result() if body.done() else None
        except asyncio.CancelledError:
            self._over = True
            body.cancel()
            end = End(self.run_id, self.generation, cancelled=True)
        if end is None:
            workflow.continue_as_new(replace(given, generation=self.generation + 1))
        return await self._ended(end, given)

    async def _recall(self, begun: Begun) -> None:
        """What the record answers of the generations before."""
        while True:
            self._known |= begun.known
            if begun.more is None:
                return
            begun = await self._activity(RECALL, Recall(begun.run_id, begun.more), Begun, "recall")

    async def _begun(self, info: workflow.Info, given: Input) -> Begun:
        name, version = self.definition.name, self.definition.version
        first = info.first_execution_run_id
        begin = Begin(name, version, info.namespace, info.workflow_id, first, given.input, given.generation, given.by)
        return await self._activity(BEGIN, begin, Begun, "begin")

    async def _function(self, plain: Any) -> End:
        """The user's function over its input, to its end."""
        run = TemporalRun(self)
        current_place.set(self.root)
        signature = signature_of(self.definition.function, skip=1)
        name, adapter = signature.inputs[0]
        end = End(self.run_id, self.generation)
        try:
            result = await self.definition.function(run, loaded(adapter, plain, where=name))
            value = dumped(signature.result, result, where=f"the result of {self.definition.name}")
            if len(compact(value)) > BODY_LIMIT:
                raise Refused("too_large", what="The result", size=len(compact(value)), limit=BODY_LIMIT)
            return replace(end, result=value)
        except _Over:
            return replace(end, cancelled=True)
        except StepFailed as failure:
            return replace(end, failure=facts_of(failure), sequence=run.sequence_of(failure))
        except Exception as problem:
            if workflow.in_workflow() and isinstance(problem, workflow.NondeterminismError):
                raise
            return replace(end, problem=failure_facts(problem), sequence=run.sequence_of(problem))

    async def _ended(self, end: End, given: Input) -> Any:
        while True:
            seen = self._moved
            said = await self._activity(END, end, Said, "end")
            if said.state == "ended":
                return self._result(said, end)
            if said.state == "again":
                workflow.continue_as_new(replace(given, generation=self.generation))
            if said.wait is not None and said.wait.kind == "parked":
                end = replace(end, parked_at=said.sequence)
            await self._wait(seen, said.wait)

    def _result(self, said: Said, end: End) -> Any:
        state, facts = said.value["state"], end.failure or end.problem
        if state == "completed" and facts is None:
            return said.value["result"]
        if state == "cancelled":
            if workflow.cancellation_reason() is not None:
                raise asyncio.CancelledError
            raise ApplicationError("It was cancelled in the ledger.", type="run_cancelled", non_retryable=True)
        facts = said.value["failure"] or facts or {}
        kind = facts.get("code") or facts.get("type")
        # Of a run that has completed nothing is done anew: another try would only say the same.
        raise ApplicationError(str(facts.get("message", "")), facts, type=kind, non_retryable=state == "completed")

    # ------------------------------------------------------------------ calls

    async def ask(self, call: Call, title: str) -> Said:
        """One call, asked until the ledger has its answer."""
        known = self._known.get(f"{call.prefix}{call.number}")
        if known is not None and asks_the_same(call, known):
            return known
        self._calls += 1
        number = self._calls
        while True:
            if self._over:
                raise _Over
            if self._is_long():
                await workflow.wait_condition(
                    lambda: self._over
                )  # nothing more is asked here: the next generation does
                raise _Over
            seen = self._moved
            others = [wait for known, wait in self._standing.items() if known != number]
            self._asking += 1
            try:
                said = await self._activity(activity_of(call.kind), replace(call, others=others), Said, title)
            finally:
                self._asking -= 1
            if said.state == "cancelled":
                raise _Over
            if said.state != "waits" or said.wait is None:
                return said
            self._standing[number] = said.wait
            try:
                await self._wait(seen, said.wait)
            finally:
                del self._standing[number]

    def _is_long(self) -> bool:
        """Whether the history is long enough: the record answers for what was done, in a generation of its own."""
        info = workflow.info()
        most = self.patience.history
        long = info.get_current_history_length() > most if most else info.is_continue_as_new_suggested()
        self._long = self._long or long
        return self._long

    async def _wait(self, seen: int, wait: Wait | None) -> None:
        """Until somebody moved something, the time has come, or nobody said anything for long."""
        patience = self.patience.look_again.total_seconds()
        if wait is not None and wait.due_at is not None:
            left = wait.due_at / 1_000_000 - workflow.now().timestamp()
            patience = min(patience, max(left, 0.05))
        try:
            await workflow.wait_condition(lambda: self._moved != seen, timeout=patience)
        except TimeoutError:
            return

    async def _activity(self, name: str, given: Any, result: Any, title: str) -> Any:
        return await workflow.execute_activity(
            name,
            given,
            result_type=result,
            start_to_close_timeout=self.patience.longest,
            heartbeat_timeout=self.patience.heartbeat,
            # The ledger rules on what may be repeated. An activity that failed only failed to reach it.
            retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
            summary=title,
        )

    def changed(self, change: str) -> bool:
        """Temporal's `patched`."""
        return workflow.patched(change)

    async def child(self, definition: Workflow[Any, Any], plain: Any, request_id: str) -> str:
        """Start it, or find the one that was started. Gives the request id of its run."""
        workflow_id = workflow_id_for(definition.name, request_id)
        try:
            handle = await workflow.start_child_workflow(
                type_name(definition.name, definition.version),
                Input(plain),
                id=workflow_id,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=ParentClosePolicy.ABANDON,  # the ledger cancels what a run has begun
            )
        except WorkflowAlreadyStartedError:
            first: str = await self._activity(FIRST, workflow_id, str, "find child")
        else:
            first = handle.first_execution_run_id or ""
            handle.add_done_callback(lambda _: self.moved())
        return Origin(workflow.info().namespace, workflow_id, first).request_id

    # ------------------------------------------------------------------ what arrives

    def moved(self) -> None:
        """Somebody moved something of this run: every call that waits looks again."""
        self._moved += 1

    async def _signal(self, name: str, args: Sequence[RawValue]) -> None:
        """A signal with a name of the workflow's own. A reset sends it again, in its order: it is one signal all the same."""
        payload = workflow.payload_converter().from_payload(args[0].payload) if args else None
        self._signals += 1
        digest = payload_digest([name, payload], where=f"the signal {name}")
        signal_id = f"temporal/{workflow.info().original_execution_run_id}/{self._signals}/{digest}"
        await self._activity(STORE, Incoming(self.run_id, signal_id, name, payload), type(None), f"signal {name}")
        self.moved()


def classes_for(registry: Registry, patience: Patience, *, without: frozenset[str] = frozenset()) -> list[type]:
    """A class for each workflow and version of the application."""
    return [
        _class_for(definition, registry, patience)
        for (name, _), definition in registry.workflows.items()
        if name not in without
    ]


def _class_for(definition: Workflow[Any, Any], registry: Registry, patience: Patience) -> type:
    async def run(self: Any, given: Input) -> Any:
        return await self.execute(given)

    def moved(self: Any) -> None:
        self.moved()

    for method in (run, moved):
        del method.__annotations__["self"]  # Temporal reads the others as the types of what it passes
    name = type_name(definition.name, definition.version)
    run.__qualname__ = f"{name}.run"
    moved.__qualname__ = f"{name}.moved"
    body = {
        "definition": definition, "registry": registry, "patience": patience, "__module__": __name__, "__qualname__": name,
        "run": workflow.run(run), "wake": workflow.signal(name=WAKE)(moved),
    }  # fmt: skip
    return workflow.defn(name=name, sandboxed=False)(type(name, (Executed,), body))
