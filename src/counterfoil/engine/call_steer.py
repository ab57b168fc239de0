"""What the user says while a turn is at work: read before the model is asked next, each message at a position of its own."""

import json
from typing import Any

from counterfoil.engine.call_tool import is_known, is_next
from counterfoil.engine.execution import Execution
from counterfoil.engine.steering import STEER, TakeSteer, unread_steers
from counterfoil.model.codec import parsed


async def steers(execution: Execution) -> list[str]:
    """The texts that came since the model was asked last, in their order."""
    texts: list[str] = []
    while True:
        if not is_next(execution, STEER):
            if is_known(execution) or not await _taken(execution):
                return texts
            continue
        with execution.call(STEER, None) as position:
            outcome = await execution.recorded(execution.journal.ended[position])
            assert outcome is not None, "a steer stands at its position"
            texts.append(_text(outcome.value))


async def _taken(execution: Execution) -> bool:
    """Take the oldest steer that nobody has read. False where there is none."""
    run = execution.run
    with execution.opened.read() as reader:
        unread = unread_steers(reader, run.run_id)
    for signal in unread:
        branch = execution.branch
        position = f"{branch.prefix}{branch.number + 1}"
        verb = TakeSteer(run.run_id, run.fence, position, signal.signal_id, execution.opened.deadlines)
        if await execution.owned(execution.write(verb)) is not None:
            execution.catch_up()
            return True
    return False


def _text(value: dict[str, Any]) -> str:
    said: dict[str, Any] = parsed(value["out"]) if isinstance(value["out"], str) else value["out"]
    text = said["text"]
    return text if isinstance(text, str) else json.dumps(text)
