"""What children of the crash tests of conversations do: whole lives, as often as they are begun."""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from counterfoil import App, Refused, Run
from counterfoil.model import ids
from counterfoil.model.conversation import Turn
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.bench_child import place, working
from tests.crash import story
from tests.crash.lives import FOUNDING
from tests.engine.house import BUDGET
from tests.engine.talks import agent

refunds = agent(story.app)
NAME = "anna"
# (request id, text, when busy). The first waits until all are accepted, and then reads what it was steered with.
MESSAGES = (
    ("m-1", "steered", "reject"),
    ("m-2", "second", "follow_up"),
    ("m-3", "third", "steer"),
    ("m-4", "wait fourth", "follow_up"),
)
ABORTED = (("m-1", "wait", "reject"), ("m-2", "second", "follow_up"), ("m-3", "third", "follow_up"))
Say = Callable[[object], None]


def speaks(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Send the messages, work, and wake who waits: until every turn has ended."""
    place(app, arguments, say)
    app.open(FOUNDING)
    asyncio.run(_spoken(app, arguments.get("messages") or MESSAGES))
    app.close()


def aborts(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Send the messages, and once the first waits abort all of it."""
    place(app, arguments, say)
    app.open(FOUNDING)
    asyncio.run(_aborted(app))
    app.close()


async def _spoken(app: App, messages: Any) -> None:
    async with working(app) as here:
        for request_id, text, when_busy in messages:
            await sent(app, request_id, text, when_busy)
        while not ended(app, messages):
            here.look()
            for run in runs(app, messages):
                if run.state is RunState.WAITING and run.reason == "signal":
                    await woken(app, run)
            if not ended(app, messages):
                await here.wait()


async def _aborted(app: App) -> None:
    async with working(app) as here:
        for request_id, text, when_busy in ABORTED:
            await sent(app, request_id, text, when_busy)
        while not ended(app, ABORTED):
            here.look()
            first = runs(app, ABORTED)[0]
            if first.state is RunState.WAITING and not first.cancel_asked:
                await app.conversations.abort(NAME, queued=True)
            if not ended(app, ABORTED):
                await here.wait()


async def sent(app: App, request_id: str, text: str, when_busy: str) -> None:
    await app.conversations.send(text, conversation=NAME, request_id=request_id, agent="refunds", when_busy=when_busy)


async def woken(app: App, run: RunRecord) -> None:
    try:
        await app.signals.send(run.run_id, "go", {}, signal_id="go")
    except Refused as refused:
        if refused.code != "run_ended":  # another owner was faster
            raise


def runs(app: App, messages: Any) -> list[RunRecord]:
    opened = app.open()
    with opened.read() as reader:
        found = [reader.get(RunRecord, ids.run_id(opened.installation_id, "refunds", each[0])) for each in messages]
    return [run for run in found if run is not None]


def ended(app: App, messages: Any) -> bool:
    found = runs(app, messages)
    return len(found) == len(messages) and all(run.state.ended for run in found)


class Notes(BaseModel):
    """What was noted."""

    lines: list[str] = []


notes = story.app.document("notes", Notes)


@story.app.workflow(version=1, budget=BUDGET)
async def notekeeper(run: Run, turn: Turn) -> int:
    """Reads the conversation's notes (the first record), and writes the message into them (the second)."""
    seen = await run.document(notes)
    written = await run.document(notes, Notes(lines=[*seen.value.lines, turn.text]), after=seen)
    return written.version


def keeps(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Send one message to the notekeeper, and work until its turn has ended."""
    place(app, arguments, say)
    app.open(FOUNDING)
    asyncio.run(_kept(app))
    app.close()


async def _kept(app: App) -> None:
    async with working(app) as here:
        sent_ = await app.conversations.send("tea", conversation=NAME, request_id="m-1", agent="notekeeper")
        while app.runs.show(sent_["run_id"])["state"] != "completed":
            here.look()
            if app.runs.show(sent_["run_id"])["state"] != "completed":
                await here.wait()
