"""A batch is one operation for each of its items: each has a key, an answer and a doubt of its own. At stripe-stateful-mock."""

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel

from counterfoil.engine.port import Call, Run
from counterfoil.model.errors import OperationFailed
from counterfoil.model.receipt import Receipt
from counterfoil.receivers.catalogue import contract
from counterfoil.testing.servers.stripe_mock import PaymentProvider
from tests.engine.house import BUDGET, Order
from tests.receivers.at_stripe_mock import PAID, REFUNDS, AtMock, charge_of, finding

AMOUNTS = {"1": 100, "2": PAID + 1, "3": 300, "4": 400}  # the second is more than was paid: refused for good


class Batch(BaseModel):
    numbers: list[str]


@pytest.mark.parametrize("lost", range(len(AMOUNTS)))
def test_one_item_is_refused_and_one_answer_lost_and_each_item_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    """Whichever answer is lost: three refunds are there, each once, and the refused item alone has failed."""
    with PaymentProvider() as provider:
        mock = AtMock(tmp_path, monkeypatch, provider)
        charges = {number: charge_of(mock) for number in AMOUNTS}
        mock.contract = contract("stripe_v1", find=finding(REFUNDS))

        async def give_back(call: Call, order: Order) -> Receipt:
            form = {"charge": charges[order.number], "amount": order.amount}
            return Receipt(reference=(await call.http.post(REFUNDS, data=form)).json()["id"])

        app = mock.house.app
        mock.register(app, {}, repeatable=False, operations=[give_back])
        operation = app.registry.operations["give_back"]

        async def all_of(run: Run, batch: Batch) -> list[str]:
            async def one(number: str) -> str:
                try:
                    await run.perform(operation, Order(number=number, amount=AMOUNTS[number]))
                except OperationFailed:
                    return f"{number} failed"
                return f"{number} done"

            return await run.gather(*(one(number) for number in batch.numbers))

        workflow = app.workflow(version=1, budget=BUDGET)(all_of)
        mock.house.found()
        # So many answers arrive, and the next one does not.
        for fault in [*["slow"] * lost, "drop-reply"]:
            mock.proxy.fault(fault, seconds=0)

        async def story() -> None:
            async with mock.house.working():
                submitted = await app.submit(workflow, Batch(numbers=list(AMOUNTS)), request_id="r")
                run, seen = mock.house.run(submitted.run_id), 0
                while run.state.value not in ("completed", "parked", "failed"):
                    run = await mock.house.until(
                        submitted.run_id,
                        lambda now, seen=seen: (
                            now.state.value in ("completed", "parked", "failed")
                            or (now.state.value == "waiting" and now.sequence > seen)
                        ),
                    )
                    if run.state.value == "waiting" and run.due_at is not None:
                        seen = run.sequence
                        mock.advance(max((run.due_at - mock.house.clock.now_us()) / 1_000_000, 0) + 0.001)
                assert run.state.value == "completed", run.reason

        asyncio.run(story())
        refunds = {number: provider.refunds_of(charge) for number, charge in charges.items()}
        assert {number: [each["amount"] for each in made] for number, made in refunds.items()} == {
            number: [] if number == "2" else [amount] for number, amount in AMOUNTS.items()
        }
        statuses = {operation.business_key: operation.status.value for operation in mock.operations()}
        assert statuses == {number: "failed" if number == "2" else "succeeded" for number in AMOUNTS}
        keys = {each["key"] for each in mock.requests()}
        assert len(keys) == len(AMOUNTS) and len(mock.requests()) in (len(AMOUNTS), len(AMOUNTS) + 1)
        mock.close()
