"""After a new key what came under the old one is still looked for."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from counterfoil.engine.port import Ask, Call, Run
from counterfoil.engine.reconcile import question
from counterfoil.model.contract import Contract, Lookup, Seen
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import CLASSIFIER

HOUR_US = 3_600_000_000


def test_a_look_reaches_back_to_the_first_attempt_of_all(house_with_crm: House, crm: SandboxProcess) -> None:
    house, asked = house_with_crm, list[Ask]()

    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        asked.append(ask)
        return Seen([], complete=True)

    async def create(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Receipt(reference=str(reply.json()["id"]))

    contract = Contract(
        api_version="1", duplicate="costly", classifier=CLASSIFIER, lookup=Lookup(find), procedure="Ask."
    )
    operation: Any = house.app.operation(receiver="crm", contract=contract, business_key="number", owner="lead")(create)

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    async def play() -> None:
        made = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
        async with house.working():
            await house.state(made, "completed")
        (record,) = house.operations(made)
        with house.app.open().read() as reader:
            (attempt,) = reader.find(AttemptRecord, "operation_id", record.operation_id)
        later = replace(
            record, first_sent_at=attempt.started_at + 2 * HOUR_US, key_number=1
        )  # as "send again" leaves it
        await question(house.app.open(), operation, later)
        assert asked[-1].first_sent_at <= datetime.fromtimestamp(attempt.started_at / 1_000_000, UTC)

    house.found()
    asyncio.run(play())
