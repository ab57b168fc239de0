"""Workflows whose authors catch too much, set time-outs of their own, and cancel what is under way."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from counterfoil import Call, Receipt, Run
from tests.crash.story import KEY, LOAD, NONE, Order, app, book, folder, mark, note


@app.operation(receiver="none", contract=NONE, business_key="number", owner="lead")
async def invent(call: Call, order: Order) -> Receipt:
    """Goes on after whatever happened, tries again by itself, and claims success."""
    for _ in range(3):
        with suppress(BaseException):
            await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference="invented")


@app.operation(receiver="key", contract=KEY, business_key="number", owner="lead")
def plain(call: Call, order: Order) -> Receipt:
    """A plain function, which runs in a thread."""
    from counterfoil import blocking

    reply = blocking(call.http.post("/cases", json=order.model_dump()))
    return Receipt(reference=reply.json()["id"])


@app.workflow(version=1, budget=LOAD)
async def swallowing(run: Run, order: Order) -> str:
    """Swallows how an execution ends, and answers as if nothing had been."""
    said = "swallowed"
    try:
        said = (await run.perform(book, order)).reference
    except BaseException:
        with suppress(BaseException):
            await run.step(mark, "while it ends")
    with suppress(BaseException):
        await run.step(mark, "after")
    return said


@app.workflow(version=1, budget=LOAD)
async def diverging(run: Run, order: Order) -> str:
    """Its second execution is another program, which swallows that it is told so."""
    await run.step(mark, "before")
    with suppress(BaseException):
        await run.step(mark, "other" if (folder() / "changed").exists() else "same")
    return (await run.perform(note, order)).reference


@app.workflow(version=1, budget=LOAD)
async def inventing(run: Run, order: Order) -> str:
    return (await run.perform(invent, order)).reference


@app.workflow(version=1, budget=LOAD)
async def threaded(run: Run, order: Order) -> str:
    return (await run.perform(plain, order)).reference


@app.workflow(version=1, budget=LOAD)
async def hasty(run: Run, order: Order) -> str:
    """A time-out that nothing records, around a write: it ends the caller's wait, not the write."""
    async with Met("operation.first_byte") as met:
        try:
            async with asyncio.timeout(None) as limit:
                met.then(lambda: limit.reschedule(asyncio.get_running_loop().time()))
                return (await run.perform(note, order)).reference
        except TimeoutError:
            return "too late for me"


@app.workflow(version=1, budget=LOAD)
async def cancelling(run: Run, order: Order) -> str:
    """An agent's loop that writes, cancelled while its write is under way; the workflow goes on without it."""
    async with Met("operation.first_byte") as met:
        loop = asyncio.create_task(agents_loop(run, order))
        met.then(loop.cancel)
        await asyncio.wait([loop])
    if loop.cancelled():
        return "cancelled"
    return loop.result()


async def agents_loop(run: Run, order: Order) -> str:
    return (await run.perform(note, order)).reference


class Met:
    """Calls back on the loop when this process passes a boundary."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> "Met":
        app.boundaries.observers.append(self._seen)
        return self

    async def __aexit__(self, *_: object) -> None:
        app.boundaries.observers.remove(self._seen)

    def then(self, act: Any) -> None:
        self._act = act

    def _seen(self, when: str, names: Sequence[str]) -> None:
        if when == "after" and self._name in names:
            self._loop.call_soon_threadsafe(self._act)
