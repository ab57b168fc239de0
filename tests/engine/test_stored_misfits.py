"""A stored write that this code cannot send: its operation is gone, its payload has another form, or somebody edited it."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from counterfoil.app import App
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.port import Call, Run
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import contract, create_case, writing


class Fuller(BaseModel):
    """The order with a field that was added later."""

    number: str
    amount: int
    currency: str


def without_it(app: App) -> Workflow[Any, Any]:
    """The same run in code that has lost the operation: it asks a model, and would wait for the doubt."""

    class Model:
        async def run(self, prompt: str) -> Any:
            raise AssertionError("a doubt stops the run")

    async def writing(run: Run, order: Order) -> Receipt:
        await run.decide(Model(), "what next", prompt_version="1")
        return Receipt(reference="none")

    return app.workflow(version=1, budget=BUDGET)(writing)


def fuller_case(app: App) -> None:
    async def create_case(call: Call, order: Fuller) -> Receipt:
        raise AssertionError("it is not sent")

    writing(
        app, app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")(create_case)
    )


@pytest.mark.parametrize("later", [without_it, fuller_case])
def test_a_write_in_doubt_that_new_code_cannot_ask_for(house_with_crm: House, crm: SandboxProcess, later: Any) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
        house.app.close()
        house.app = house.new_app()
        later(house.app)
        house.clock.advance(2)
        async with house.working():
            run = await house.state(submitted.run_id, "parked")
        assert (run.reason, run.owner) == ("code_changed", "lead")
        assert "create_case" in run.sentence
        (operation,) = house.operations(submitted.run_id)
        assert (operation.status.value, operation.attempts, len(crm.records())) == ("in_flight", 1, 1)
        (waiting,) = house.app.inbox.list()["items"]
        assert waiting["reason"] == "code_changed"
        house.clean()

    asyncio.run(story())


def test_a_payload_that_was_edited_is_not_sent_under_the_approval_of_another(
    house_with_crm: House, crm: SandboxProcess
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
        (review,) = house.app.reviews.list(state="open")["items"]
        await house.app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET)
        _edited(Path(house.app.db or ""))
        async with house.working():
            run = await house.state(submitted.run_id, "parked")
        assert run.reason == "code_changed" and "was changed after it was proposed" in run.sentence
        assert crm.records() == []
        await house.app.runs.cancel(submitted.run_id, by="ana", reason="it was edited")
        async with house.working():
            await house.state(submitted.run_id, "cancelled")
        assert crm.records() == []
        house.app.close()

    asyncio.run(story())


def _edited(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        for table in ("operations", "proposals"):
            connection.execute(f'UPDATE {table} SET payload = replace(payload, \'"number":"1"\', \'"number":"2"\')')
    connection.close()
