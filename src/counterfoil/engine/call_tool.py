"""Tools of an agent that are no operations: one that may run again, and one of which nobody knows what a repeat does.

A call of an undeclared tool is an operation of its own, without key and without lookup. Interrupted, it is never run again:
its caller hears `Interrupted`, and whatever it would write next is held until a person, or the tool itself, says what
happened. A write that was planned meanwhile is not run then: it was planned without knowing (design rule 13).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.asked import input_digest
from counterfoil.engine.branches import Wait
from counterfoil.engine.call_perform import check_review, closes, intent_of, prepared, start_driver
from counterfoil.engine.call_step import count_call, tried
from counterfoil.engine.decisions import in_doubt
from counterfoil.engine.definitions import Operation, Step
from counterfoil.engine.execution import Execution
from counterfoil.engine.inquiry import unasked
from counterfoil.engine.leaving import unless_cancelled
from counterfoil.engine.steps import EndStep
from counterfoil.engine.suspension import Suspended
from counterfoil.engine.waits import OpenTimer
from counterfoil.model.codec import parsed
from counterfoil.model.errors import OperationFailed
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.rules.replay import Outcome

TOOL = "tool "  # how the name of a safe tool's step begins
INTERRUPTED = "interrupted"
HELD = "held"
HEARD = "heard"
COUNTED = 0  # where in its branch a call is counted: the calls of a branch are numbered from 1


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Whether the call happened is unknown, at the moment it was told. `operation_id` names it."""

    operation_id: str
    number: int


async def counted(execution: Execution, tool: str) -> None:
    """Where a budget counts calls of this tool: count this one, once, before anything of it begins; or wait for the owner.

    A call is a call of the model: what comes of it after a crash, or once a person let it pass, is the same one.
    """
    if not is_known(execution):
        await count_call(execution, f"{execution.branch.prefix}{COUNTED}", f"call {tool}", tool)


async def again(execution: Execution, spec: Step, arguments: Any, once: Callable[[], Awaitable[Any]]) -> Outcome:
    """A tool that may run again, as a step: a run that is cancelled meanwhile leaves it. Raises StepFailed when its tries are spent."""
    digest = input_digest([arguments])

    async def unless_left() -> Any:
        return await unless_cancelled(execution, once(), Suspended())

    with execution.call(spec.name, digest) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            outcome = await execution.given(await tried(execution, position, spec, digest, unless_left))
        if outcome.failure is not None:
            raise execution.failures.recorded(outcome.failure, outcome.sequence)
        return outcome


async def once_only(
    execution: Execution, operation: Operation[Any, Any], payload: Any
) -> OperationRecord | Interrupted:
    """The closed operation of this call; or Interrupted, recorded, so that every replay tells the same.

    Raises ReviewRejected, ReviewExpired: then nothing was run.
    """
    intent, _ = intent_of(execution, operation, payload)
    with execution.call(operation.name, intent.payload_digest) as position:
        operation_id, version = await prepared(execution, operation, position, intent, intent.payload_digest, None)
        if not is_next(execution, INTERRUPTED):
            closing = await _closing(execution, operation, operation_id, version, position)
            if closing is not None:
                check_review(execution, execution.operations[operation_id], closing)
                return execution.operations[operation_id]
    record = execution.operations[operation_id]
    await marked(execution, INTERRUPTED, {"operation_id": operation_id})
    return Interrupted(operation_id, record.number)


async def _closing(
    execution: Execution, operation: Operation[Any, Any], operation_id: str, version: int, position: str
) -> Outcome | None:
    """The outcome of the operation; None as soon as nothing automatic can tell it."""
    while True:
        verdict = execution.journal.verdict(operation_id, version, position)
        closing = execution.journal.closings.get(operation_id)
        if verdict is not None and not closes(verdict) and (closing is None or verdict.sequence < closing.sequence):
            return await execution.recorded(verdict)
        if closing is not None:
            return await execution.recorded(closing)
        if execution.operations[operation_id].status is OperationStatus.UNKNOWN and not unasked(
            execution, operation, execution.operations[operation_id]
        ):
            return None
        if operation_id not in execution.drivers:
            start_driver(execution, operation, operation_id)
        now = execution.opened.clock.now_us()
        await execution.wait(Wait("driver", operation_id, now, None, None, f"waits for {operation.name}"))


async def held(execution: Execution, what: str) -> list[OperationRecord] | None:
    """Before a write that a model planned: None where nothing holds it. Else the calls of whose end the model had not heard when
    it planned it, once every one of them is closed: the write itself is not to be run."""
    if not is_next(execution, HELD) and (is_known(execution) or not unheard(execution)):
        return None
    with execution.call(HELD, None) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            told = await _hold(execution, position, what)
            while interrupted_now(execution):
                seen = execution.journal.seen
                sentence = f"{what} waits until it is known what an interrupted tool did"
                now = execution.opened.clock.now_us()
                await execution.wait(Wait("receiver", position, now, None, None, sentence), seen=seen)
            outcome = await execution.given(await _written(execution, position, HELD, told))
        return [execution.operations[each] for each in outcome.value["out"]["for"]]


async def _hold(execution: Execution, position: str, what: str) -> dict[str, Any]:
    """Written before it waits: after a crash the write is still one that was planned without knowing."""
    opened = execution.journal.opened.get(position)
    if opened is None:
        run = execution.run
        data = {"what": what, "for": [record.operation_id for record in unheard(execution)]}
        verb = OpenTimer(run.run_id, run.fence, position, HELD, data, execution.opened.deadlines)
        execution.noted(await execution.owned(execution.write(verb)), data)
        opened = execution.journal.opened[position]
    return {"what": opened.data["what"], "for": opened.data["for"]}


async def planned_knowing(execution: Execution, what: str) -> None:
    """Before a write by code that a model's call has begun. Raises OperationFailed(withdrawn) where the model planned that call
    without knowing what an interrupted one did: nothing is prepared, now or at a replay."""
    if execution.branch.knows is None:
        return
    waited = await held(execution, what)
    if waited is not None:
        numbers = ", ".join(f"op-{record.number}" for record in waited)
        message = f"{what} was not run: it was planned before it was known what an interrupted tool did ({numbers})."
        raise OperationFailed(waited[0].operation_id, message, kind="withdrawn")


def unheard(execution: Execution) -> list[OperationRecord]:
    """The interrupted calls of whose end nobody had heard who planned this branch, oldest first; also those that ended since."""
    knows = execution.branch.knows
    if knows is None:
        return []
    found = {record.operation_id: record for record in (*told_interrupted(execution), *interrupted_now(execution))}
    return sorted((found[each] for each in found.keys() - knows), key=lambda record: record.number)


async def heard(execution: Execution, known: set[str]) -> list[OperationRecord]:
    """Interrupted calls that are closed by now, and of which the caller has not heard yet (`known`: those it has)."""
    if not is_next(execution, HEARD):
        if is_known(execution):
            return []
        news = [record for record in told_interrupted(execution) if record.status.closed]
        if not {record.operation_id for record in news} - known:
            return []
        told = {"for": [record.operation_id for record in news if record.operation_id not in known]}
        outcome = await marked(execution, HEARD, told)
    else:
        outcome = await marked(execution, HEARD, {})
    return [execution.operations[each] for each in outcome.value["out"]["for"]]


def told_interrupted(execution: Execution) -> list[OperationRecord]:
    """Every call of which its caller heard that its outcome is unknown, oldest first."""
    names, ended = execution.journal.names, execution.journal.ended
    told = (ended[place].value for place, (name, _) in names.items() if name == INTERRUPTED and place in ended)
    records = [execution.operations[each["out"]["operation_id"]] for each in told]
    return sorted(records, key=lambda record: record.number)


def interrupted_now(execution: Execution) -> list[OperationRecord]:
    """Undeclared calls whose outcome nobody knows."""
    return [
        record
        for record in execution.operations.values()
        if record.undeclared and in_doubt(record) and record.status is OperationStatus.UNKNOWN
    ]


def receipt_of(execution: Execution, record: OperationRecord) -> dict[str, Any] | None:
    """The receipt of a closed operation as JSON; None where there is none."""
    if record.receipt_id is None:
        return None
    with execution.opened.read() as reader:
        receipt = reader.get(ReceiptRecord, record.receipt_id)
    return None if receipt is None else parsed(receipt.body)


async def marked(execution: Execution, name: str, told: dict[str, Any]) -> Outcome:
    """Record something that is told at this position, so that every replay tells the same; else what was recorded."""
    with execution.call(name, None) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        return outcome or await execution.given(await _written(execution, position, name, told))


async def _written(execution: Execution, position: str, name: str, told: dict[str, Any]) -> Outcome:
    run, data = execution.run, {"in": None, "out": told}
    verb = EndStep(run.run_id, run.fence, position, name, data, execution.opened.deadlines)
    entry = await execution.owned(execution.write(verb))
    execution.noted(entry, data)
    return execution.journal.ended[position]


def next_position(execution: Execution) -> str:
    branch = execution.branch
    return f"{branch.prefix}{branch.number + 1}"


def is_next(execution: Execution, mark: str) -> bool:
    return execution.journal.names.get(next_position(execution), ("", None))[0] == mark


def is_known(execution: Execution) -> bool:
    return next_position(execution) in execution.journal.names
