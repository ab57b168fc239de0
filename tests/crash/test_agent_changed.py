"""A deployment that changes a tool while a call of it is interrupted: the saved call is refused before it is made again.

The model would hear only of the refusal, and plan the same payment in the new form. The run stops instead: the record holds a
write that this code does not reach (design rules 13 and 16).
"""

import asyncio
from typing import Any

import pytest

from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import played
from tests.crash.turns import DONE, Room

PAY = {"order": "o-1", "amount": 5}
FIRST: list[Any] = [["transfer", PAY]]
AGAIN: dict[str, list[Any]] = {
    "form": [["transfer", PAY | {"currency": "CHF"}]],
    "name": [["transfer_2", PAY]],
    "validator": FIRST,
    "gone": [["look", {"order": "o-1"}]],
}


@row("changed")
@pytest.mark.parametrize("resolved", [True, False])
@pytest.mark.parametrize("changed", AGAIN)
def test_a_call_that_new_code_refuses(
    room: Room, forks: Children, changed: str, resolved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        async with played(room, forks, tools.changing_agent, [FIRST, AGAIN[changed], DONE, DONE]) as turn:
            await turn.dies("transfer after")
            monkeypatch.setenv("CHANGED", changed)
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "code_changed")
            assert "changing_tool" in stored.sentence and "refuses the call" in stored.sentence
            assert len(room.lines("requests")) == 1, "the model is not asked on"
            if resolved:  # a person may say what happened meanwhile; it is kept
                await turn.resolved("succeeded", *turn.operations())
                assert (await turn.driven()).reason == "code_changed"
            monkeypatch.delenv("CHANGED")
            await turn.bench.app.runs.resume(turn.run.run_id, by="ana")
            await turn.to_the_end()
            turn.done()
            assert room.bodies("bank") == [PAY] and len(room.lines("transfers")) == 1

    asyncio.run(body())
