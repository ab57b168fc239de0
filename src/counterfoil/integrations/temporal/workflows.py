"""A class of Temporal for each workflow of the application: it executes the same function, and asks the ledger for each call.

Nothing here reads a clock, chance, the network or the database: Temporal replays it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy, SearchAttributeKey, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ParentClosePolicy

from counterfoil.engine.definitions import Registry, Workflow, dumped, loaded, signature_of
from counterfoil.engine.runner import failure_facts
from counterfoil.integrations.temporal.activities import BEGIN, END, RECALL, STORE, UNKNOWN_RUN, activity_of
from counterfoil.integrations.temporal.failures import facts_of
from counterfoil.integrations.temporal.hand import WAKE
from counterfoil.integrations.temporal.identity import SEARCH_ATTRIBUTE, type_name, workflow_id_for
from counterfoil.integrations.temporal.messages import Begin, Begun, Call, End, Incoming, Input, Recall, Said, Wait
from counterfoil.integrations.temporal.recalling import asks_the_same
from counterfoil.integrations.temporal.run import Place, TemporalRun, Waits, current_place
from counterfoil.model.codec import BODY_LIMIT, compact, digest_of, payload_digest
from counterfoil.model.errors import Refused, StepFailed
from counterfoil.model.origin import Origin

T = TypeVar("T")
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
        self._parts: list[asyncio.Task[Any]] = []
        self._given = Input(None)
        self._begun = Begun("", 0)
        self._moved = 0
        self._signals = 0
        self._standing: dict[int, Wait] = {}
        self._known: dict[str, Said] = {}
        self._asking = 0
        self._long = False
        self._anew = False  # the ledger was restored: it knows less than this execution
        self._over = False  # nothing more is asked here
        self._cancelled = False
        self._calls = 0
        self._answered = 0

    # ------------------------------------------------------------------ from the first call to the end

    async def execute(self, given: Input) -> Any:
        """The workflow's main function."""
        if workflow.info().cron_schedule:
            problem = (
                "A cron workflow runs under one identity each time. Use a schedule of Temporal, which starts a new one."
            )
            raise ApplicationError(problem, type="temporal_cron", non_retryable=True)
        self._given, self.generation = given, given.generation
        self._begun = begun = await self._whole(self._begin)
        self.run_id, self.root.last_at = begun.run_id, begun.created_at
        await self._whole(self._recall)
        # The SDK types neither of the two wholly.
        workflow.upsert_search_attributes([RUN.value_set(self.run_id)])  # pyright: ignore[reportUnknownMemberType]
        workflow.set_dynamic_signal_handler(self._signal)  # pyright: ignore[reportUnknownMemberType]
        body = self.part(self._function(given.input))
        end = await self._end_of(body)
        self._over = True  # branches that nobody awaits, and what a `finally` asks: nothing of it begins now
        await self._whole(self._at_rest)
        if end is None:
            workflow.continue_as_new(replace(given, generation=self.generation + (0 if self._anew else 1)))
        said, end = await self._ended(end)
        await self._whole(self._at_rest)
        if said.state == "again":
            workflow.continue_as_new(given)
        return self._result(said, end)

    async def _begin(self) -> Begun:
        given = self._given
        name, version, info = self.definition.name, self.definition.version, workflow.info()
        begin = Begin(
            name, version, info.namespace, info.workflow_id, info.first_execution_run_id, given.input, given.generation,
            given.by, given.submitted, given.parent,
        )  # fmt: skip
        return await self._activity(BEGIN, begin, Begun, "begin")

    async def _recall(self) -> None:
        """What the record answers of the generations before."""
        begun = self._begun
        while True:
            self._known |= begun.known
            if begun.more is None:
                return
            begun = await self._activity(RECALL, Recall(begun.run_id, begun.more), Begun, "recall")

    async def _end_of(self, body: "asyncio.Task[End]") -> End | None:
        """The end that the function came to; None where the workflow continues as new instead."""
        try:
            if not self._cancelled:
                await workflow.wait_condition(lambda: body.done() or ((self._long or self._anew) and not self._asking))
                return body.result() if body.done() else None
        except asyncio.CancelledError:
            self._cancelled = True
        self._over = True
        for part in self._parts:
            part.cancel()
        return self._final(cancelled=True)

    async def _whole(self, body: Callable[[], Awaitable[T]]) -> T:
        """What cancelling must not leave half done is begun again: Temporal cancels a workflow once."""
        try:
            return await body()
        except (asyncio.CancelledError, ActivityError) as problem:
            if not is_cancelled_exception(problem):
                raise
            self._cancelled = True
            return await body()

    async def _at_rest(self) -> None:
        """Until no call is under way and no signal is being stored: neither may come after the end."""
        await workflow.wait_condition(lambda: not self._asking and workflow.all_handlers_finished())

    def _final(self, **more: Any) -> End:
        return End(
            self.run_id, self.generation, begun_at=self._begun.sequence, incarnation=self._begun.incarnation, **more
        )

    async def _function(self, plain: Any) -> End:
        """The user's function over its input, to its end. Once nothing more is asked, whatever it returns or raises is ignored."""
        run = TemporalRun(self)
        current_place.set(self.root)
        signature = signature_of(self.definition.function, skip=1)
        name, adapter = signature.inputs[0]
        try:
            result = await self.definition.function(run, loaded(adapter, plain, where=name))
            value = dumped(signature.result, result, where=f"the result of {self.definition.name}")
            if len(compact(value)) > BODY_LIMIT:
                raise Refused("too_large", what="The result", size=len(compact(value)), limit=BODY_LIMIT)
            end = self._final(result=value)
        except workflow.NondeterminismError:
            raise
        except StepFailed as failure:
            end = self._final(failure=facts_of(failure), sequence=run.sequence_of(failure))
        except (Exception, asyncio.CancelledError, _Over, BaseExceptionGroup) as problem:
            end = self._final(problem=failure_facts(problem), sequence=run.sequence_of(problem))
        return self._final(cancelled=True) if self._over else end

    async def _ended(self, end: End) -> tuple[Said, End]:
        """Asked until the run has ended in the ledger, or is to be begun anew. Gives what the ledger said, of which end."""
        while True:
            if self._cancelled and not end.cancelled:
                end = self._final(cancelled=True)
            seen = self._moved
            try:
                said = await self._activity(END, end, Said, "end")
                if said.state in ("ended", "again"):
                    return said, end
                if said.wait is not None and said.wait.kind == "parked":
                    end = replace(end, parked_at=said.sequence)
                await self._wait(seen, said.wait)
            except (asyncio.CancelledError, ActivityError) as problem:
                if not is_cancelled_exception(problem):
                    raise
                self._cancelled = True

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

    async def ask(self, call: Call, title: str, waits: Waits | None = None) -> Said:
        """One call, asked until the ledger has its answer. `waits` is told what it waits for."""
        known = self._known.get(f"{call.prefix}{call.number}")
        # Under a timeout the answer alone does not say whether it came in time: the ledger does.
        if known is not None and not call.scopes and asks_the_same(call, known):
            return known
        self._calls += 1
        number = self._calls
        call = replace(call, incarnation=self._begun.incarnation)
        while True:
            if self._is_long() or self._anew:
                await workflow.wait_condition(lambda: self._over)  # nothing more is asked here: the next execution does
            if self._over:
                raise _Over
            seen = self._moved
            others = [wait for known, wait in self._standing.items() if known != number]
            said = await self._asked(replace(call, others=others), title)
            if said.state == "cancelled":
                self._over = True
            elif said.state == "again":
                self._anew = True
            elif said.state != "waits" or said.wait is None:
                self._answered += 1
                return said
            else:
                self._standing[number] = said.wait
                try:
                    if waits is not None:
                        await waits(said.wait)
                    await self._wait(seen, said.wait)
                finally:
                    del self._standing[number]

    async def _asked(self, call: Call, title: str) -> Said:
        self._asking += 1
        try:
            return await self._activity(activity_of(call.kind), call, Said, title)
        except ActivityError:
            if self._over:
                raise _Over from None
            raise
        finally:
            self._asking -= 1

    def _is_long(self) -> bool:
        """Whether the history is long enough: the record answers for what was done, in a generation of its own."""
        info = workflow.info()
        most = self.patience.history
        if not self._answered:
            return False  # each generation comes further than the one before
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
            await workflow.wait_condition(lambda: self._moved != seen or self._over or self._anew, timeout=patience)
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

    def part(self, body: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """The function, or a branch of it: ended with the workflow."""
        part = asyncio.create_task(body)
        self._parts.append(part)
        return part

    # ------------------------------------------------------------------ children

    def request_of(self, definition: Workflow[Any, Any], request_id: str) -> str:
        """The request id of a child's run in the ledger: as if it had been submitted by us."""
        return Origin(workflow.info().namespace, workflow_id_for(definition.name, request_id), "").request_id

    async def begin_child(self, definition: Workflow[Any, Any], request_id: str, given: Input) -> None:
        """Have its function executed. Its run stands in the ledger already, and has not ended: so one that Temporal has closed
        or forgotten is begun anew, from the record."""
        try:
            handle = await workflow.start_child_workflow(
                type_name(definition.name, definition.version),
                given,
                id=workflow_id_for(definition.name, request_id),
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                parent_close_policy=ParentClosePolicy.ABANDON,  # the ledger cancels what a run has begun
            )
        except WorkflowAlreadyStartedError:
            return  # somebody asked for the same before: it is looked at
        handle.add_done_callback(self._child_over)

    def _child_over(self, child: "asyncio.Task[Any]") -> None:
        if not child.cancelled():
            child.exception()  # how it ended is read in the ledger
        self.moved()

    # ------------------------------------------------------------------ what arrives

    def moved(self) -> None:
        """Somebody moved something of this run: every call that waits looks again."""
        self._moved += 1

    async def _signal(self, name: str, args: Sequence[RawValue]) -> None:
        """A signal with a name of the workflow's own. A reset sends it again, in its order: it is one signal all the same."""
        self._signals += 1
        payload, digest = _said_in(name, args)
        signal_id = f"temporal/{workflow.info().original_execution_run_id}/{self._signals}/{digest}"
        signal = Incoming(self.run_id, signal_id, name, payload)
        while True:
            try:
                await self._activity(STORE, signal, type(None), f"signal {name}")
            except ActivityError as problem:
                refused = problem.cause
                if isinstance(refused, ApplicationError) and refused.type == UNKNOWN_RUN:
                    self._anew = True
                    await self._begin()
                    continue
                # Whoever may send a signal must not fail the workflow by it.
                workflow.logger.warning("The signal %s is not stored: %s", name, refused)
            self.moved()
            return


def _said_in(name: str, args: Sequence[RawValue]) -> tuple[Any, str]:
    """What a signal says, and its digest. What is no JSON is stored as bytes nobody can read, and no wait takes it."""
    try:
        payload = workflow.payload_converter().from_payload(args[0].payload) if args else None
        return payload, payload_digest([name, payload], where=f"the signal {name}")
    except Exception as problem:  # whatever a converter says
        digest = digest_of(args[0].payload.SerializeToString(deterministic=True))
        return {"unreadable": type(problem).__name__, "digest": digest}, digest


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
