"""An agent of the OpenAI Agents SDK, by the recipe."""

import asyncio
import json
from pathlib import Path
from typing import Any

from agents import Agent, Runner, RunState, set_tracing_disabled
from agents.testing.model import ScriptedModel, assistant_message, function_call

from counterfoil import App, Unresolved
from counterfoil.testing.bench_child import place
from tests.edges.adapters.recipes import recipe
from tests.edges.adapters.refunds import OPERATIONS, Refund, Say, app

__all__ = ["app", "play"]

set_tracing_disabled(True)
made = recipe("function_tool")


def play(app: App, arguments: dict[str, Any], say: Say) -> None:
    place(app, arguments, say)
    made["refund"] = OPERATIONS[arguments["operation"]]
    say(asyncio.run(_played(arguments)))
    app.close()


async def _played(arguments: dict[str, Any]) -> dict[str, Any]:
    kept = Path(arguments["folder"]) / "state.json"
    how, amount = arguments["how"], arguments["amount"]
    given = json.dumps({"number": arguments["number"], "amount": amount})
    call = function_call("give_back", given, call_id=f"call-{how}")  # after a crash the model is asked anew: another id
    steps: list[Any] = (
        [[assistant_message("told")]] if how in ("resume", "changed") else [[call], [assistant_message("told")]]
    )
    agent = Agent(name="desk", model=ScriptedModel(steps), tools=[made["give_back"]])
    if how == "changed":  # the code was deployed anew meanwhile, and makes another payload of the same call
        made["Refund"] = lambda number, amount: Refund(number=number, amount=arguments["amount"])
    if how in ("resume", "changed"):
        state = await RunState.from_json(agent, json.loads(kept.read_text()))
        for interruption in state.get_interruptions():
            state.approve(interruption)
        try:
            result = await Runner.run(agent, state)
        except Unresolved as doubt:
            return {"waits": doubt.sentence}
    else:
        result = await Runner.run(agent, "Give the money back.", context={"conversation": "1"})
    if result.interruptions:
        kept.write_text(json.dumps(result.to_state().to_json()))
        return {"waits": True}
    (heard,) = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    return {"refused": heard} if str(heard).startswith("It did not happen") else {"receipt": {"reference": heard}}
