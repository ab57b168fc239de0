"""`run.step` and `run.transact`: recorded work that may safely run again."""

import asyncio
from collections.abc import Callable
from typing import Any

from counterfoil.engine.asked import input_digest
from counterfoil.engine.branches import Wait
from counterfoil.engine.budgets import Share, Spent, budget_of, draws_on_none, held_by, shares_of, spent_by
from counterfoil.engine.definitions import Step, dumped, loaded, signature_of, step_of
from counterfoil.engine.demands import Demand
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.invoke import invoke
from counterfoil.engine.steps import CountTry, DrawCall, EndStep
from counterfoil.model import ids
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.codec import BODY_LIMIT
from counterfoil.model.errors import Refused, StepFailed
from counterfoil.model.journal import EntryKind
from counterfoil.model.origin import identity_generation
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import CALLS, ELAPSED, FIRST_PAUSE_US, LONGEST_PAUSE_US, TIMED, budget_left, pause_before
from counterfoil.rules.replay import Outcome
from counterfoil.store.journaling import Written, written
from counterfoil.store.user_transaction import in_one_transaction


async def step(
    execution: Execution, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    signature = signature_of(function)
    spec = step_of(function)
    digest = input_digest(signature.bind(args, kwargs))
    with execution.call(spec.name, digest) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:

            async def once() -> Any:
                result = invoke(function, *args, **kwargs)
                if spec.timeout is None:
                    result = await result
                else:
                    result = await asyncio.wait_for(result, spec.timeout.total_seconds())
                return dumped(signature.result, result, where=f"the result of {spec.name}")

            outcome = await execution.given(await tried(execution, position, spec, digest, once))
        if outcome.failure is not None:
            raise execution.failures.recorded(outcome.failure, outcome.sequence)
        return loaded(signature.result, outcome.value["out"], where=f"the result of {spec.name}")


async def transact(execution: Execution, connect: Callable[[], Any], body: Callable[[Any], Any]) -> Any:
    """The same-database contract: absence is proven only by inserting the operation's id oneself."""
    spec = Step(f"transact {getattr(body, '__qualname__', 'body').rpartition('.')[2]}")
    with execution.call(spec.name, None) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            run = execution.run
            generation = identity_generation(run.workflow, run.generation)
            operation = ids.operation_id(run.run_id, generation, position, spec.name, 0)

            async def once() -> Any:
                return await invoke(in_one_transaction, connect, body, operation)

            outcome = await execution.given(await tried(execution, position, spec, None, once))
        if outcome.failure is not None:
            raise execution.failures.recorded(outcome.failure, outcome.sequence)
        return outcome.value["out"]


async def tried(
    execution: Execution, position: str, spec: Step, digest: str | None, once: Callable[[], Any]
) -> Outcome:
    """Try until it ends: a result, a final failure, or a budget that is spent."""
    while True:
        first = _may_be_spent(execution, spec.called)
        if first or position in execution.journal.tries:
            await room_for_a_try(execution, position, spec, first=first)
        timed: tuple[str, ...] = ()
        if not draws_on_none(execution.opened.registry, execution.run):
            timed = await _paid_for(execution, position, spec, digest)
        await execution.owned(one_try(execution, position, spec, digest, once, timed))
        outcome = execution.journal.ended.get(position)
        if outcome is not None:
            return outcome


async def one_try(
    execution: Execution,
    position: str,
    spec: Step,
    digest: str | None,
    once: Callable[[], Any],
    timed: tuple[str, ...],
) -> None:
    """`timed`: the budgets that count its time, and hold some of it."""
    run, deadlines = execution.run, execution.opened.deadlines
    kind, data, text = EntryKind.STEP, {"in": digest}, None
    try:
        data["out"] = await once()
        try:
            text = _step_text(digest, data["out"])
        except (TypeError, ValueError, RecursionError) as problem:
            where = f"the result of {spec.name}"
            raise Refused("unserializable", where=where, problem=str(problem)) from problem
        if len(text) > BODY_LIMIT:
            raise Refused("too_large", what=f"The result of {spec.name}", size=len(text), limit=BODY_LIMIT)
    except StepFailed as failure:
        kind, data = EntryKind.STEP_FAILED, {"in": digest, "failure": failure.facts()}
    except Refused as refused:
        # Another try gives the same: a result that cannot be stored is final.
        kind, data = (
            EntryKind.STEP_FAILED,
            {"in": digest, "failure": StepFailed(refused.code, refused.message, "Refused").facts()},
        )
    except Exception as problem:
        n = execution.journal.tries.get(position, 0) + 1
        if spec.retry is not None and n >= spec.retry.tries:
            failure = StepFailed("tries_exhausted", said(problem), type(problem).__name__)
            kind, data = EntryKind.STEP_FAILED, {"in": digest, "failure": failure.facts()}
        else:
            tried_ = {"in": digest, "n": n, "problem": said(problem)}
            shares = shares_here(execution, spec.called)
            count = CountTry(run.run_id, run.fence, position, spec.name, tried_, deadlines, shares=shares, timed=timed)
            entry = await execution.write(count)
            execution.noted(entry, tried_)
            return
    stored = text if kind is EntryKind.STEP else data
    entry = await execution.write(EndStep(run.run_id, run.fence, position, spec.name, stored, deadlines, kind, timed))
    execution.noted(entry, data)


async def room_for_a_try(execution: Execution, position: str, spec: Step, *, first: bool = False) -> None:
    """Wait for the pause between tries; when the budget is spent, wait for its owner. `first`: also before the first try."""
    journal = execution.journal
    while True:
        tries = journal.tries.get(position, 0)
        if not tries and not first:
            return
        spent = budget_spent(execution, spec.called)
        if spent is not None:
            problem = journal.problems.get(position, "nothing is known of it")
            last = f"Try {tries} of {spec.name} failed: {problem.rstrip('.')}."
            what = last if tries else f"{spec.name} was not begun."
            execution.demands.note(position, demand_of(spent, what))
            await execution.wait(Wait("timer", position, execution.opened.clock.now_us(), None, None, what))
            continue
        execution.demands.note(position, None)
        if not tries:
            return
        shortest = FIRST_PAUSE_US if spec.retry is None else _us(spec.retry.pause)
        longest = LONGEST_PAUSE_US if spec.retry is None else _us(spec.retry.longest)
        due = journal.last_try_at[position] + pause_before(tries, shortest, longest)
        if execution.opened.clock.now_us() >= due:
            return
        sentence = f"waits to try {spec.name} again"
        await execution.wait(Wait("timer", position, journal.last_try_at[position], due, due, sentence))


def _may_be_spent(execution: Execution, called: str) -> bool:
    """Whether the figures are worth a look before a first try: most steps pay nothing for their budget."""
    run, operations = execution.run, execution.operations
    if run.failed_tries or execution.journal.tries or (operations and any(o.attempts for o in operations.values())):
        return True
    if budget_left(budget_of(run), run, execution.opened.clock.now_us()) is not None:
        return True
    return any(TIMED.intersection(share.limits) for share in shares_here(execution, called))


def _step_text(digest: str | None, out: Any) -> Written:
    """The data of a step's entry as JSON text, put together from its parts: a plain string is encoded at once."""
    return Written(f'{{"in":{written(digest)},"out":{written(out)}}}')


def _us(duration: Any) -> int:
    return int(duration.total_seconds() * 1_000_000)


async def _paid_for(execution: Execution, position: str, spec: Step, digest: str | None) -> tuple[str, ...]:
    """Where a budget counts calls of this name, or the time of its tries: count this one before it is begun, or wait for the
    budget's owner. Gives the budgets that hold some of its time until it ends."""
    run, journal = execution.run, execution.journal
    while True:
        first = not spec.counted and position not in journal.drawn and not journal.tries.get(position)
        kind = CALLS + spec.called if first else ELAPSED
        shares = tuple(s for s in shares_here(execution, spec.called) if kind in s.limits or ELAPSED in s.limits)
        if not shares:
            execution.demands.note(position, None)
            return ()
        name = journal.names.get(position, (spec.name, None))[0]
        verb = DrawCall(
            run.run_id, run.fence, position, name, digest, spec.called, execution.opened.deadlines, shares, first,
            held_here(execution, position),
        )  # fmt: skip
        if await _drawn(execution, verb):
            return verb.timed


async def count_call(execution: Execution, position: str, name: str, called: str) -> None:
    """Where a budget counts calls of what is `called`: count one before it is begun, or wait for the budget's owner.

    `name` is the entry's. What becomes of the call, and the time of its tries, is counted where that is done.
    """
    run, deadlines = execution.run, execution.opened.deadlines
    while position not in execution.journal.drawn:
        shares = tuple(share for share in shares_here(execution, called) if CALLS + called in share.limits)
        if not shares:
            break
        await _drawn(
            execution,
            DrawCall(run.run_id, run.fence, position, name, None, called, deadlines, shares, is_try=False),
        )
    execution.demands.note(position, None)


async def _drawn(execution: Execution, verb: DrawCall) -> bool:
    """Whether it is paid for; else after a wait in which that may have changed."""
    position, seen = verb.position, execution.journal.seen
    entry = await execution.owned(execution.write(verb))
    if not isinstance(entry, Spent):
        execution.noted(entry, {"in": verb.digest})
        execution.demands.note(position, None)
        return True
    execution.demands.note(position, demand_of(entry, f"{verb.called} was not called."))
    now = execution.opened.clock.now_us()
    sentence = f"waits for budget to call {verb.called}"
    await execution.wait(Wait("timer", position, now, None, None, sentence), seen=seen)
    return False


def shares_here(execution: Execution, called: str) -> tuple[Share, ...]:
    """The budgets that a call of this name draws on, begun now."""
    registry, run = execution.opened.registry, execution.run
    return () if draws_on_none(registry, run) else shares_of(registry, run, called, execution.opened.clock.now_us())


def held_here(execution: Execution, call: str) -> tuple[str, ...]:
    """The budgets in which a call that was lost holds something. Only its own position changes that."""
    with execution.opened.read() as reader:
        run = reader.get(RunRecord, execution.run.run_id) or execution.run
    return held_by(run, {call})


def demand_of(spent: Spent, what: str) -> Demand:
    """The park for a spent budget: what was not done, and why."""
    return Demand(spent.reason, f"{what} {spent.sentence}".strip(), spent.owner, spent=spent)


def budget_spent(execution: Execution, called: str) -> Spent | None:
    """What of the budgets of this call is spent by now; None while something is left."""
    shares = shares_here(execution, called)
    with execution.opened.read() as reader:
        run = reader.get(RunRecord, execution.run.run_id) or execution.run
        rows = {each.budget_id: reader.get(BudgetRecord, each.budget_id) for each in shares}
    return spent_by(rows, run, shares, {"attempts": 1, "elapsed_us": 0}, execution.opened.clock.now_us())
