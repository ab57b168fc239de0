"""The workflows of the battery, one for each way in which a write is kept single, approved or bounded."""

from collections.abc import Sequence
from datetime import timedelta

from counterfoil.drills.battery.application import BUDGET, SANDBOXES, Order, app, book, mail, note, pay, post, tip, vary
from counterfoil.drills.scenario import Scenario
from counterfoil.engine.definitions import step
from counterfoil.engine.port import Run
from counterfoil.model.budget import Retry
from counterfoil.model.receipt import Receipt


@step(retry=Retry(tries=3 * BUDGET.attempts, pause=timedelta(seconds=1)))
async def read(order: Order) -> str:
    """Something to do before a write. Were it to fail, the budget would be spent before its tries are."""
    return f"order {order.number}"


@app.workflow(version=1, budget=BUDGET)
async def keyed(run: Run, order: Order) -> Receipt:
    """A step, then a write under a key, with no name but its identity."""
    await run.step(read, order)
    return await run.perform(note, order)


@app.workflow(version=1, budget=BUDGET)
async def named(run: Run, order: Order) -> Receipt:
    """The same intention twice: the second takes the receipt of the first."""
    await run.perform(book, order)
    return await run.perform(book, order)


@app.workflow(version=1, budget=BUDGET)
async def reviewed(run: Run, order: Order) -> Receipt:
    """A proposal that is approved, and sent under a key."""
    return await run.perform(pay, await run.propose(pay, order))


@app.workflow(version=1, budget=BUDGET)
async def reviewed_twice(run: Run, order: Order) -> Receipt:
    """Two writes of the same content, each with a review of its own."""
    await run.perform(tip, order)
    return await run.perform(tip, order)


@app.workflow(version=1, budget=BUDGET)
async def varying(run: Run, order: Order) -> Receipt:
    """A write whose bytes change from try to try."""
    return await run.perform(vary, order)


@app.workflow(version=1, budget=BUDGET)
async def asked(run: Run, order: Order) -> Receipt:
    """A write without a key, at a receiver that shows late what it has."""
    return await run.perform(post, order)


@app.workflow(version=1, budget=BUDGET)
async def unknowable(run: Run, order: Order) -> Receipt:
    """A write about which only a person can find out."""
    return await run.perform(mail, order)


@app.workflow(version=1, budget=BUDGET)
async def keyed_then_asked(run: Run, order: Order) -> Receipt:
    """A write under a key, and then one that only a lookup tells: after a restore it is planned when that is finished."""
    await run.perform(note, order)
    return await run.perform(post, order)


ORDER, OTHER = {"number": "b-1", "amount": 40}, {"number": "b-1", "amount": 41}
WORKFLOWS = ("keyed", "named", "reviewed", "reviewed_twice", "varying", "asked", "unknowable", "keyed_then_asked")
SCENARIOS: Sequence[Scenario] = tuple(
    Scenario(workflow=name, input=ORDER, other_input=OTHER, sandboxes=SANDBOXES) for name in WORKFLOWS
)
