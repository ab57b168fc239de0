"""Waiting calls of a run: signals, sleep, timeouts, children, branches, and messages."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from counterfoil.engine.asked import input_digest
from counterfoil.engine.branches import Branch, Scope, Wait, current_branch
from counterfoil.engine.call_document import writable
from counterfoil.engine.definitions import Workflow, dumped, loaded, signature_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.submission import child_submission, refuse_turn
from counterfoil.engine.suspension import Suspended
from counterfoil.engine.waits import AppendMessage, Fire, OpenTimer, Receive, StartChild, TakeChild
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused, RunFailed, TimedOut, failure_from
from counterfoil.model.run import RunRecord
from counterfoil.rules.replay import Opened

LOOK_AGAIN_US = 10_000_000
CHILD = "child "  # how the name of such a call begins


def microseconds(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1_000_000)


async def _opened(
    execution: Execution, position: str, name: str, data: dict[str, Any], verb: type[OpenTimer] = OpenTimer
) -> Opened:
    """The opening entry of a waiting call, written once."""
    opened = execution.journal.opened.get(position)
    if opened is None:
        run = execution.run
        opening = verb(run.run_id, run.fence, position, name, data, execution.opened.deadlines)
        entry = await execution.owned(execution.write(opening))
        execution.noted(entry, data | ({"until": entry.at + data["within_us"]} if "within_us" in data else {}))
        opened = execution.journal.opened[position]
    return opened


async def sleep(execution: Execution, duration: timedelta) -> None:
    within = microseconds(duration)
    with execution.call("sleep", str(within)) as position:
        if await execution.recorded(execution.journal.ended.get(position)) is not None:
            return
        opened = await _opened(execution, position, "sleep", {"in": str(within), "within_us": within})
        until = opened.data["until"]
        while position not in execution.journal.ended:
            if execution.opened.clock.now_us() >= until:
                await _fire(execution, position, "sleep", until)
            else:
                await execution.wait(Wait("timer", position, opened.at, until, until, "sleeps"))
        await execution.given(execution.journal.ended[position])


async def _fire(execution: Execution, position: str, name: str, until: int) -> None:
    run = execution.run
    entry = await execution.owned(
        execution.write(Fire(run.run_id, run.fence, position, name, until, execution.opened.deadlines))
    )
    if entry is not None:
        execution.noted(entry, {"until": until})


async def wait_for(execution: Execution, signal: str, type_: Any, within: timedelta) -> Any:
    name = f"wait_for {signal}"
    adapter: TypeAdapter[Any] = TypeAdapter(type_)
    length = microseconds(within)
    with execution.call(name, str(length)) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            opened = await _opened(execution, position, name, {"in": str(length), "within_us": length})
            until = opened.data["until"]
            while position not in execution.journal.ended:
                seen = execution.journal.seen
                await _receive(execution, position, signal, adapter)
                if position in execution.journal.ended:
                    break
                if execution.opened.clock.now_us() >= until:
                    await _fire(execution, position, name, until)
                    continue
                await execution.wait(
                    Wait("signal", signal, opened.at, until, until, f"waits for the signal {signal}"), seen=seen
                )
            outcome = await execution.given(execution.journal.ended[position])
        if "out" not in outcome.value:
            raise execution.failures.told(TimedOut(f"The signal {signal}"), outcome.sequence)
        return loaded(adapter, parsed(outcome.value["out"]), where=f"the signal {signal}")


async def _receive(execution: Execution, position: str, signal: str, adapter: TypeAdapter[Any]) -> None:
    run = execution.run

    def fits(payload: str) -> bool:
        try:
            loaded(adapter, parsed(payload), where=f"the signal {signal}")
        except Refused:
            return False
        return True

    verb = Receive(run.run_id, run.fence, position, signal, fits, execution.opened.deadlines)
    if await execution.owned(execution.write(verb)) is not None:
        execution.catch_up()


@asynccontextmanager
async def timeout(execution: Execution, duration: timedelta) -> AsyncGenerator[None]:
    length = microseconds(duration)
    with execution.call("timeout", str(length)) as position:
        opened = await _opened(execution, position, "timeout", {"in": str(length), "within_us": length})
    scope = Scope(position, opened.data["until"])
    branch = execution.branch
    branch.scopes.append(scope)
    try:
        yield
    finally:
        branch.scopes.remove(scope)


@contextmanager
def _not_begun(bodies: Sequence[Coroutine[Any, Any, Any]]) -> Generator[None]:
    """Where the call itself is refused nobody will await its bodies: Python would complain of each, in the user's log."""
    try:
        yield
    except BaseException:
        for body in bodies:
            if inspect.iscoroutine(body) and inspect.getcoroutinestate(body) == inspect.CORO_CREATED:
                body.close()
        raise


async def gather(execution: Execution, bodies: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    with _not_begun(bodies), execution.call("gather", str(len(bodies))) as position:
        branches = [_child_branch(execution, f"{position}.{n}.") for n in range(len(bodies))]
        parts = [execution.open_branch(branch, body) for branch, body in zip(branches, bodies, strict=True)]
        return await _joined(execution, position, parts)


async def _joined(execution: Execution, position: str, parts: list[asyncio.Task[Any]]) -> list[Any]:
    """Wait for all; the first failure in the order of the bodies is raised once every one has ended."""
    if not parts:
        return []
    branch = execution.branch
    branch.waiting = Wait("branches", position, branch.last_at, None, None, "waits for its branches")

    def ended(_: asyncio.Task[Any]) -> None:
        if all(part.done() for part in parts):
            branch.waiting = None

    for part in parts:
        part.add_done_callback(ended)
    ended(parts[0])
    execution.activity.set()
    try:
        await asyncio.wait(parts)
    finally:
        branch.waiting = None
    if execution.closed:
        raise Suspended
    return [part.result() for part in parts]


class Joined:
    """A branch that runs already. Awaiting it gives its result; a run that ends without awaiting it leaves it behind."""

    def __init__(self, execution: Execution, position: str, part: asyncio.Task[Any]) -> None:
        self._execution = execution
        self._position = position
        self._part = part

    def __await__(self) -> Generator[Any, None, Any]:
        return self._result().__await__()

    async def _result(self) -> Any:
        return (await _joined(self._execution, self._position, [self._part]))[0]


def branch(execution: Execution, body: Coroutine[Any, Any, Any]) -> Joined:
    """Starts the body now, in a branch of its own. What comes back is awaited for its result."""
    with _not_begun((body,)), execution.call("branch", None) as position:
        part = execution.open_branch(_child_branch(execution, f"{position}.0."), body)
    execution.parts.append(part)
    return Joined(execution, position, part)


def _child_branch(execution: Execution, prefix: str) -> Branch:
    parent = current_branch.get(execution.root)
    return Branch(prefix, parent.last_at, scopes=list(parent.scopes), knows=parent.knows)


async def child(execution: Execution, workflow: Workflow[Any, Any], given: Any, request_id: str) -> Any:
    signature = signature_of(workflow.function, skip=1)
    plain = dumped(signature.inputs[0][1], given, where=f"the input of {workflow.name}")
    refuse_turn(workflow, plain)
    name = f"{CHILD}{workflow.name}"
    with execution.call(name, input_digest([plain, request_id])) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            verb = child_submission(
                execution.opened.installation_id, workflow, plain, request_id, execution.opened.deadlines,
                parent=execution.run, position=position,
            )  # fmt: skip
            data = {"in": input_digest([plain, request_id]), "run_id": verb.run_id}
            opened = await _opened(execution, position, name, data, StartChild)
            if verb.run_id == execution.run.run_id:
                raise Refused("usage", problem=f"{workflow.name} cannot be its own child under the same request id")
            await execution.owned(execution.write(verb))
            with execution.opened.read() as reader:
                stored = reader.get(RunRecord, verb.run_id)
            wakes = stored is not None and stored.parent_run_id == execution.run.run_id
            while position not in execution.journal.ended:
                seen = execution.journal.seen
                await _take_child(execution, position, name, verb.run_id)
                if position not in execution.journal.ended:
                    # A child that somebody else submitted first wakes its own parent, not this one: it is looked at again.
                    due = None if wakes else execution.opened.clock.now_us() + LOOK_AGAIN_US
                    wait = Wait("child", verb.run_id, opened.at, due, None, f"waits for {workflow.name}")
                    await execution.wait(wait, seen=seen)
            outcome = await execution.given(execution.journal.ended[position])
        return _child_result(execution, workflow, outcome.value, outcome.sequence)


async def _take_child(execution: Execution, position: str, name: str, child_id: str) -> None:
    run = execution.run
    verb = TakeChild(run.run_id, run.fence, position, name, child_id, execution.opened.deadlines)
    if await execution.owned(execution.write(verb)) is not None:
        execution.catch_up()


def _child_result(execution: Execution, workflow: Workflow[Any, Any], value: dict[str, Any], sequence: int) -> Any:
    if value["state"] == "completed":
        return loaded(
            signature_of(workflow.function, skip=1).result, parsed(value["out"]), where=f"the result of {workflow.name}"
        )
    failure: dict[str, Any] | None = parsed(value["failure"])
    if failure is not None and "code" in failure:
        raise execution.failures.told(failure_from(failure), sequence)
    ended = RunFailed(value["child"], value["state"], (failure or {}).get("message", "no result"))
    raise execution.failures.told(ended, sequence)


async def message(execution: Execution, role: str, text: str) -> None:
    digest = input_digest([role, writable(text, "a message")])
    with execution.call("message", digest) as position:
        if await execution.recorded(execution.journal.ended.get(position)) is None:
            run, deadlines = execution.run, execution.opened.deadlines
            data = {"in": digest}
            entry = await execution.owned(
                execution.write(AppendMessage(run.run_id, run.fence, position, role, text, deadlines, data))
            )
            execution.noted(entry, data)
            await execution.given(execution.journal.ended[position])
