"""`run.decide` and `run.revise`: an accepted model output, saved before anything acts on it."""

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

from counterfoil.engine.asked import decision_digest
from counterfoil.engine.asking import Answer, Question, Versions, answered
from counterfoil.engine.definitions import dumped, loaded
from counterfoil.engine.execution import Execution
from counterfoil.model.errors import Refused


async def decide(
    execution: Execution, agent: Any, given: object, versions: Versions, *, reason: str | None = None
) -> Any:
    """`reason` is set for a revision: the next version of that agent's newest decision in this branch."""
    name = agent_name(agent)
    plain = plain_input(given)
    facts: dict[str, Any] = versions.facts() | {"model": model_name(agent)}
    digest = decision_digest(plain, versions.prompt, versions.policy)
    adapter: TypeAdapter[Any] = TypeAdapter(getattr(agent, "output_type", Any))

    async def once() -> Answer:
        result = await agent.run(prompt_of(plain))
        output = dumped(adapter, result.output, where=f"the decision of {name}")
        return Answer(output, *execution.opened.usage_of(result))

    with execution.call(f"decide {name}", digest) as position:
        if reason is not None:
            facts |= {"revises": _newest(execution, position, name), "reason": reason}
        question = Question(f"decide {name}", name, digest, facts, {"input": plain}, once)
        outcome = await answered(execution, position, question)
        output = execution.opened.artifacts.whole(outcome.value["output"])
        return loaded(adapter, output, where=f"the decision of {name}")


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


def plain_input(given: object) -> Any:
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json")
    try:
        return json.loads(json.dumps(given))
    except (TypeError, ValueError) as problem:
        raise Refused("unserializable", where="the input of a decision", problem=str(problem)) from problem


def prompt_of(plain: Any) -> str:
    """Text goes to the model as it is; anything else as JSON."""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, indent=1)
