"""Ask a model at a position: a visible request, then the accepted answer, saved before anything is shown or acted on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from counterfoil.engine.branches import Wait
from counterfoil.engine.budgets import Spent
from counterfoil.engine.call_step import demand_of, held_here, room_for_a_try, shares_here
from counterfoil.engine.decisions import AcceptDecision, AskModel, RefuseQuestion
from counterfoil.engine.definitions import Step
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.leaving import unless_cancelled
from counterfoil.engine.steps import CountTry
from counterfoil.model.codec import BODY_LIMIT, compact, storable
from counterfoil.model.errors import StepFailed
from counterfoil.rules.replay import Outcome

RESERVE_MICROS = 50_000  # 0.05 USD held back for each call in flight


class NotAnswered(Exception):
    """Raised by a question's `call` where another try gives the same: the request is refused, and costs nothing."""

    def __init__(self, failure: StepFailed) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered: `output` as JSON, its usage, and its cost in micro-USD where a price is known."""

    output: Any
    usage: dict[str, Any]
    cost_micros: int | None


@dataclass(frozen=True, slots=True)
class Versions:
    """Under which version of its prompt a model is asked, and of the policy (the rules it is to go by) where one is named."""

    prompt: str
    policy: str | None = None

    def facts(self) -> dict[str, Any]:
        """As they stand in the request and in the decision."""
        named = {} if self.policy is None else {"policy_version": self.policy}
        return {"prompt_version": self.prompt} | named


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask. `name` is the call's in the journal, `who` the agent's; `digest` of what is asked, for the replay.

    `facts` stand in the request and in the decision, `given` (the input) in the request only. `call` asks the model once.
    `counted`: whether budgets count this as a call of `who`; what an agent asks within its own turn is none.
    """

    name: str
    who: str
    digest: str
    facts: dict[str, Any]
    given: dict[str, Any]
    call: Callable[[], Awaitable[Answer]] = field(repr=False)
    counted: bool = True


async def answered(execution: Execution, position: str, question: Question) -> Outcome:
    """The decision at a position: the saved one, or a new one. The caller has opened the position.

    Raises StepFailed where the model refuses the question, also at a replay.
    """
    outcome = await execution.recorded(execution.journal.ended.get(position))
    if outcome is None:
        outcome = await execution.given(await _decided(execution, position, question))
    if outcome.failure is not None:
        raise execution.failures.recorded(outcome.failure, outcome.sequence)
    return outcome


async def _decided(execution: Execution, position: str, question: Question) -> Outcome:
    spec = Step(question.who)
    while True:
        await room_for_a_try(execution, position, spec)
        seen = execution.journal.seen
        refused = await execution.owned(_ask(execution, position, question))
        if position in execution.journal.ended:
            execution.demands.note(position, None)
            return execution.journal.ended[position]
        now = execution.opened.clock.now_us()
        if refused == "in_doubt":
            sentence = "waits until a doubt of this run is closed"
            await execution.wait(Wait("decision", position, now, None, None, sentence), seen=seen)
        elif isinstance(refused, Spent):
            execution.demands.note(position, demand_of(refused, f"{question.who} was not asked."))
            sentence = f"waits for budget to ask {question.who}"
            await execution.wait(Wait("decision", position, now, None, None, sentence), seen=seen)


async def _ask(execution: Execution, position: str, question: Question) -> str | Spent | None:
    """One call of the model. Gives the reason when it may not be asked now."""
    run, deadlines = execution.run, execution.opened.deadlines
    journal, digest = execution.journal, question.digest
    before = journal.asked.get(position, 0)
    lost = before > journal.tries.get(position, 0) + journal.lost.get(position, 0)
    asked = {"in": digest, "n": before + 1, "lost": lost} | question.facts | await _kept(execution, question.given)
    shares, held = shares_here(execution, question.who), held_here(execution, position) if lost else ()
    losses = journal.losses.get(position, 0) + lost
    called = question.who if question.counted else None
    entry = await execution.write(
        AskModel(
            run.run_id, run.fence, position, question.name, asked, RESERVE_MICROS, deadlines, called, losses, shares, held
        )
    )  # fmt: skip
    if isinstance(entry, str | Spent):
        execution.catch_up()  # it may have recorded a loss
        return entry
    if lost:
        execution.catch_up()
    execution.noted(entry, asked) if entry.sequence > journal.seen else None
    try:
        over = RuntimeError("the run was cancelled while the model was asked")  # a try that failed, and nothing lost
        answer = await unless_cancelled(execution, question.call(), over)
        # It is paid: half a character in it is told as one that is missing, and is no reason to ask again.
        output = (await _kept(execution, {"output": storable(answer.output)}))["output"]
    except NotAnswered as refused:
        data = {"in": digest, "n": before + 1, "failure": refused.failure.facts()}
        entry = await execution.write(
            RefuseQuestion(run.run_id, run.fence, position, question.name, data, RESERVE_MICROS, deadlines, shares)
        )
        execution.noted(entry, data)
        return None
    except Exception as problem:
        tried = {"in": digest, "n": before + 1, "problem": said(problem)}
        count = CountTry(
            run.run_id, run.fence, position, question.name, tried, deadlines, RESERVE_MICROS, shares
        )  # fmt: skip
        failed = await execution.write(count)
        execution.noted(failed, tried)
        return None
    spent = {"output": output, "usage": answer.usage, "cost_micros": answer.cost_micros}
    data = {"in": digest} | spent | question.facts
    accepted = await execution.write(
        AcceptDecision(run.run_id, run.fence, position, question.name, data, RESERVE_MICROS, deadlines, shares)
    )
    execution.noted(accepted, data)
    return None


async def _kept(execution: Execution, given: dict[str, Any]) -> dict[str, Any]:
    """Values over half the body limit are kept as artifacts, by digest."""
    kept: dict[str, Any] = {}
    for name, value in given.items():
        text = compact(value)
        if len(text) <= BODY_LIMIT // 2:
            kept[name] = value
            continue
        save = execution.opened.artifacts.save
        artifact = await asyncio.to_thread(save, text.encode(), name=f"model {name}")
        kept[name] = {"artifact": artifact.digest}
    return kept
