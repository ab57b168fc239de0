"""`run.decide` and `run.revise`: an accepted model output, saved before anything acts on it."""

import asyncio
import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

from counterfoil.engine.branches import Wait
from counterfoil.engine.call_step import input_digest, room_for_a_try
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.definitions import Step, dumped, loaded
from counterfoil.engine.demands import Demand
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.invoke import own_end
from counterfoil.engine.steps import CountTry
from counterfoil.model.codec import BODY_LIMIT, compact, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason
from counterfoil.rules.replay import Outcome

RESERVE_MICROS = 50_000  # 0.05 USD held back for each call in flight


async def decide(
    execution: Execution, agent: Any, given: object, prompt_version: str, *, reason: str | None = None
) -> Any:
    """`reason` is set for a revision: the next version of that agent's newest decision in this branch."""
    name = agent_name(agent)
    plain = _plain(given)
    facts = {"prompt_version": prompt_version, "input": plain, "model": model_name(agent)}
    digest = input_digest([plain, prompt_version])
    adapter: TypeAdapter[Any] = TypeAdapter(getattr(agent, "output_type", Any))
    with execution.call(f"decide {name}", digest) as position:
        if reason is not None:
            facts |= {"revises": _newest(execution, position, name), "reason": reason}
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            outcome = await execution.given(await _decided(execution, agent, position, name, digest, facts, adapter))
        return loaded(adapter, outcome.value["output"], where=f"the decision of {name}")


async def _decided(
    execution: Execution,
    agent: Any,
    position: str,
    name: str,
    digest: str,
    facts: dict[str, Any],
    adapter: TypeAdapter[Any],
) -> Outcome:
    spec = Step(name)
    while True:
        await room_for_a_try(execution, position, spec)
        seen = execution.journal.seen
        refused = await execution.owned(_ask(execution, agent, position, name, digest, facts, adapter))
        if position in execution.journal.ended:
            execution.demands.note(position, None)
            return execution.journal.ended[position]
        now = execution.opened.clock.now_us()
        if refused == "in_doubt":
            await execution.wait(
                Wait("decision", position, now, None, None, "waits until a doubt of this run is closed"), seen=seen
            )
        elif refused is not None:
            execution.demands.note(
                position, Demand(ParkReason(refused), f"{name} was not asked.", parsed(execution.run.budget)["owner"])
            )
            await execution.wait(
                Wait("decision", position, now, None, None, f"waits for budget to ask {name}"), seen=seen
            )


async def _ask(
    execution: Execution,
    agent: Any,
    position: str,
    name: str,
    digest: str,
    facts: dict[str, Any],
    adapter: TypeAdapter[Any],
) -> str | None:
    """One call of the model. Gives the reason when it may not be asked now."""
    run, deadlines = execution.run, execution.opened.deadlines
    journal = execution.journal
    called = journal.asked.get(position, 0)
    answered = journal.tries.get(position, 0) + journal.lost.get(position, 0)
    asked = {"in": digest, "n": called + 1, "lost": called > answered} | facts
    kept = await _keep_large(execution, asked)
    entry = await execution.write(
        AskModel(run.run_id, run.fence, position, f"decide {name}", kept, RESERVE_MICROS, deadlines)
    )
    if isinstance(entry, str):
        return entry
    if asked["lost"]:
        execution.catch_up()
    execution.noted(entry, kept) if entry.sequence > journal.seen else None
    try:
        result = await own_end(agent.run(prompt_of(facts["input"])))
        output = dumped(adapter, result.output, where=f"the decision of {name}")
        size = len(compact(output))
        if size > BODY_LIMIT:
            raise Refused("too_large", what=f"The decision of {name}", size=size, limit=BODY_LIMIT)
    except Exception as problem:
        tried = {"in": digest, "n": called + 1, "problem": said(problem)}
        failed = await execution.write(CountTry(run.run_id, run.fence, position, f"decide {name}", tried, deadlines))
        execution.noted(failed, tried)
        return None
    usage, cost = execution.opened.usage_of(result)
    data = {"in": digest, "output": output, "usage": usage, "cost_micros": cost} | {
        k: v for k, v in facts.items() if k != "input"
    }
    accepted = await execution.write(
        AcceptDecision(run.run_id, run.fence, position, f"decide {name}", data, RESERVE_MICROS, deadlines)
    )
    execution.noted(accepted, data)
    return None


async def _keep_large(execution: Execution, asked: dict[str, Any]) -> dict[str, Any]:
    """Inputs over the body limit are kept as an artifact, by digest."""
    text = compact(asked["input"])
    if len(text) <= BODY_LIMIT // 2:
        return asked
    artifact = await asyncio.to_thread(execution.opened.artifacts.save, text.encode(), name="model input")
    return asked | {"input": {"artifact": artifact.digest}}


def _newest(execution: Execution, position: str, name: str) -> str | None:
    """The position of that agent's newest decision before this one, in this branch."""
    prefix = execution.branch.prefix
    earlier = [
        place
        for place, (called, _) in execution.journal.names.items()
        if called == f"decide {name}"
        and place.startswith(prefix)
        and place != position
        and "." not in place[len(prefix) :]
    ]
    return max(earlier, key=lambda place: int(place[len(prefix) :]), default=None)


_names: dict[int, tuple[Any, str]] = {}  # by identity, holding the agent: agents need not be hashable


def agent_name(agent: Any) -> str:
    """The name a decision is recorded under: the agent's own, else its output type's, else its class's.

    It is kept as first seen: Pydantic AI gives an agent a name of the caller's making at its first run, and a replay
    must ask under the name that the record holds.
    """
    known = _names.get(id(agent))
    if known is None:
        given = getattr(agent, "name", None) or getattr(getattr(agent, "output_type", None), "__name__", None)
        known = _names[id(agent)] = (agent, str(given or type(agent).__name__))
    return known[1]


def model_name(agent: Any) -> str | None:
    model = getattr(agent, "model", None)
    return model if isinstance(model, str) else getattr(model, "model_name", None)


def _plain(given: object) -> Any:
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json")
    try:
        return json.loads(json.dumps(given))
    except (TypeError, ValueError) as problem:
        raise Refused("unserializable", where="the input of a decision", problem=str(problem)) from problem


def prompt_of(plain: Any) -> str:
    """Text goes to the model as it is; anything else as JSON."""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, indent=1)
