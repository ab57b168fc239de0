"""An agent without a model for tests of conversations: a turn says what it read, and waits where its text says so."""

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.following import turns_before
from counterfoil.engine.port import Run
from counterfoil.engine.steering import TakeSteer, unread_steers
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import Refused, StepFailed
from counterfoil.model.run import RunRecord
from tests.engine.house import BUDGET, House


class Go(BaseModel):
    """The signal `go`."""


async def spoken(run: Run, turn: Turn) -> str:
    """`wait ...` waits for the signal go; `steered ...` waits, then reads what came meanwhile; `stuck` is parked, `fail` fails."""
    assert isinstance(run, EmbeddedRun)
    await run.message("user", turn.text)
    said = [turn.text]
    if turn.text.startswith(("wait", "steered")):
        await run.wait_for("go", Go, within=timedelta(days=9))
    if turn.text == "stuck":
        raise StepFailed("stuck", "as it was told")
    if turn.text == "fail":
        raise RuntimeError("as it was told")
    if turn.text.startswith("steered"):
        said += await steers(run)
    await run.message("agent", f"heard {', '.join(said)}")
    return " + ".join(said)


async def steers(run: EmbeddedRun) -> list[str]:
    """As a loop reads them before it asks its model: each at a position of its own."""
    execution, found = run.execution, []
    for n in range(9):
        position = f"steer {n}"
        if position not in execution.journal.ended:
            with execution.opened.read() as reader:
                unread = unread_steers(reader, run.id)
            if not unread:
                break
            verb = TakeSteer(run.id, execution.run.fence, position, unread[0].signal_id, execution.opened.deadlines)
            if await execution.owned(execution.write(verb)) is None:
                break
            execution.catch_up()
        found.append(parsed(execution.journal.ended[position].value["out"])["text"])
    return found


def agent(app: App, name: str = "refunds") -> Workflow[Turn, str]:
    """`spoken` under a name of its own."""

    async def body(run: Run, turn: Turn) -> str:
        return await spoken(run, turn)

    body.__name__ = body.__qualname__ = name
    return app.workflow(version=1, budget=BUDGET)(body)


def history(app: App, run_id: str) -> list[str]:
    """What was said to the agent before this turn."""
    with app.open().read() as reader:
        runs = [reader.get(RunRecord, before) for before in turns_before(reader, run_id)]
    return [parsed(run.input)["text"] for run in runs if run is not None]


def send(house: House, text: str, request_id: str | None = None, **more: Any) -> Coroutine[Any, Any, dict[str, Any]]:
    given = {"conversation": "c", "agent": "refunds"} | more
    return house.app.conversations.send(text, request_id=request_id or f"r {text}", **given)


def go(house: House, run_id: str) -> Coroutine[Any, Any, None]:
    return house.app.signal(run_id, "go", Go(), signal_id="go")


async def refused(code: str, body: Coroutine[Any, Any, Any]) -> Refused:
    with pytest.raises(Refused) as told:
        await body
    assert told.value.code == code, told.value
    return told.value


def turns(house: House, name: str = "c") -> list[tuple[int, str, str]]:
    """(n, kind, text) of the transcript."""
    return [(t["n"], t["kind"], t["text"]) for t in house.app.conversations.show(name)["transcript"]["items"]]


def talking_entries(house: House) -> list[str]:
    """What the installation's chain says that was done to conversations."""
    found = house.entries(house.app.open().installation_id)
    return [data["did"] for kind, _, data in found if kind == "conversation"]
