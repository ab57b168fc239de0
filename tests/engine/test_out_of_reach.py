"""A receiver that cannot be asked: more and more seldom in vain, and after its owner's time a person hears of the doubt."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.app.duties.doubts import ask_again
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Lookup, Reference, Seen
from counterfoil.model.duty import DutyRecord
from counterfoil.model.people import Owner
from counterfoil.model.receipt import LookupRecord, Receipt
from counterfoil.model.run import RunRecord
from counterfoil.rules.situation import DAY_US
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import House, Order
from tests.engine.writes import CLASSIFIER, find_case, writing

ZERO = timedelta(0)
DUTY = DutyRecord("reconcile", None, None, None, None, None, 0, 0)


def writes_in_doubt(app: App, down: list[bool]) -> Workflow[Any, Any]:
    """One write whose receiver can be asked, unless it is `down`."""

    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        if down[0]:
            raise ConnectionError("no route to the receiver")
        return await find_case(ask, order)

    async def create_case(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Receipt(reference=reply.json()["id"])

    asks = Lookup(find, consistency="strong", visible_within=ZERO, arrives_within=ZERO, finds_by="operation_id")
    terms = Contract(
        api_version="1", duplicate="costly", classifier=CLASSIFIER, lookup=asks,
        reference=Reference(header="Counterfoil-Operation"),
    )  # fmt: skip
    owner = Owner("lead", within=timedelta(hours=2), then="ops")
    return writing(app, app.operation(receiver="crm", contract=terms, business_key="number", owner=owner)(create_case))


async def until_parked(house: House, run_id: str) -> RunRecord:
    """Time goes on from one due question to the next."""
    while True:
        run = await house.state(run_id, "waiting", "parked")
        if run.state.value == "parked":
            return run
        assert (run.reason, run.owner) == ("receiver", "lead")
        assert house.clock.now_us() < run.created_at + DAY_US, "nobody hears of it"
        house.clock.advance(max(0, (run.due_at or 0) - house.clock.now_us()) / 1_000_000 + 0.001)
        await house.until(run_id, lambda now, seen=run.sequence: now.sequence > seen)


def test_its_owner_hears_of_a_doubt_whose_receiver_stays_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = [True]

    async def story() -> None:
        with SandboxProcess("lookup") as crm:
            house = House(tmp_path, monkeypatch, crm.url)
            workflow = writes_in_doubt(house.app, down)
            house.found()
            crm.fault("drop-reply")
            began = house.clock.now_us()
            async with house.working():
                run_id = (await house.app.submit(workflow, Order(number="1"), request_id="r-1")).run_id
                parked = await until_parked(house, run_id)
        assert (parked.reason, parked.owner, parked.owner_then) == ("outcome_unknown", "lead", "ops")
        assert (
            timedelta(hours=2) <= timedelta(microseconds=house.clock.now_us() - began) < timedelta(hours=2, minutes=5)
        )
        [operation] = house.operations(run_id)
        assert (operation.status.value, operation.case_letter) == ("unknown", "Z")
        with house.app.open().read() as reader:
            asked = reader.find(LookupRecord, "operation_id", operation.operation_id)
        assert {lookup.result for lookup in asked} == {"unreachable"}
        assert 10 < len(asked) < 20, "twice as long each time, a quarter of an hour at last"
        [item] = house.app.inbox.list()["items"]
        assert (item["reason"], item["operation_id"]) == ("outcome_unknown", operation.operation_id)
        assert item["next_action"]["code"] == "resolve"
        await goes_on_by_itself(house, run_id)
        house.app.close()

    async def goes_on_by_itself(house: House, run_id: str) -> None:
        """The receiver is there again, and holds nothing: the duty's question says so, and the run sends."""
        down[0] = False
        with SandboxProcess("lookup") as crm:
            monkeypatch.setenv("CRM_URL", crm.url)
            house.clock.advance(6 * 3600)
            await ask_again(house.app, DUTY)
            async with house.working():
                await house.state(run_id, "completed")
            assert len(crm.records()) == 1

    asyncio.run(story())
