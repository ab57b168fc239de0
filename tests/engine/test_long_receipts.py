"""A receiver's answer that is long, or that no record can hold as it is: what it did is recorded, and nothing is in doubt."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from counterfoil.app.doctor_artifacts import lost_artifacts, named_artifacts
from counterfoil.engine.port import Call, Run
from counterfoil.model.contract import Found, Seen
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt, ReceiptRecord
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.port import StorageError
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import contract, create_case, writing

PAGE = "p" * 2_000_000


class Paged(Receipt):
    page: str = ""


@pytest.mark.parametrize("full", [False, True])
def test_a_long_receipt_lies_beside_and_the_workflow_has_the_whole(
    house_with_crm: House, crm: SandboxProcess, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    house = house_with_crm
    got: list[Paged] = []
    save = ArtifactStore.save

    def no_room(self: ArtifactStore, content: bytes, *, name: str) -> Any:
        if full and name == "receipt":
            raise StorageError("disk_full", problem="no room")
        return save(self, content, name=name)

    monkeypatch.setattr(ArtifactStore, "save", no_room)

    async def create(call: Call, order: Order) -> Paged:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Paged(reference=f"{reply.json()['id']} \ud800\0", page=PAGE)

    operation = house.app.operation(receiver="crm", contract=contract("key"), business_key="number", owner="lead")(
        create
    )

    async def paging(run: Run, order: Order) -> str:
        got.append(await run.perform(operation, order))
        again = await run.perform(operation, order.model_copy(update={"number": "2"}))
        return again.reference

    workflow = house.app.workflow(version=1, budget=BUDGET)(paging)

    async def story() -> None:
        house.found()
        async with house.working():
            run = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(run.run_id, "completed")
        assert len(crm.records()) == 2
        assert [operation.status.value for operation in house.operations(run.run_id)] == ["succeeded"] * 2
        assert {each.page for each in got} == {"" if full else PAGE}
        opened = house.app.open()
        with opened.read() as reader:
            receipts = list(reader.rows(ReceiptRecord))
            named = named_artifacts(reader)
            assert max(len(entry.body) for entry in reader.entries(run.run_id)) < 20_000
        assert all(receipt.reference.endswith(" \ufffd\ufffd") and len(receipt.body) < 500 for receipt in receipts)
        assert len(named) == (0 if full else 2) and lost_artifacts(opened.artifacts, named) == []
        house.clean()

    asyncio.run(story())


def test_what_a_lookup_finds_is_kept_alike(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    plain = contract("lookup")
    assert plain.lookup is not None
    find: Any = plain.lookup.function

    async def find_long(ask: Any, order: Order) -> Seen[Paged]:
        seen = await find(ask, order)
        return Seen(
            [
                Found(Paged(reference=f"{each.receipt.reference}\ud800", page=PAGE), payload=each.payload)
                for each in seen.records
            ],
            complete=seen.complete,
        )

    looked = replace(plain, lookup=replace(plain.lookup, function=find_long))

    async def create(call: Call, order: Order) -> Paged:
        reply = await call.http.post("/cases", json=order.model_dump())
        return Paged(reference=reply.json()["id"])

    operation = house.app.operation(receiver="crm", contract=looked, business_key="number", owner="lead")(create)

    async def paging(run: Run, order: Order) -> int:
        return len((await run.perform(operation, order)).page)

    workflow = house.app.workflow(version=1, budget=BUDGET)(paging)

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            run = await house.app.submit(workflow, Order(number="1"), request_id="r")
            found = await house.state(run.run_id, "completed", "parked")
        assert (found.state.value, found.result, len(crm.records())) == ("completed", str(len(PAGE)), 1)
        house.clean()

    asyncio.run(story())


def test_a_text_that_has_no_form_is_refused_with_a_code(house_with_crm: House, crm: SandboxProcess) -> None:
    """Whatever did not look at a text: the database takes none of it, and others of the same batch are stored."""
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            run = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(run.run_id, "waiting")
        review = house.app.reviews.list()["items"][0]
        with pytest.raises(Refused) as told:
            await house.app.reviews.reject(
                review["review_id"], digest=review["digest"], by="ana", secret=SECRET, comment="\ud800"
            )
        assert told.value.code == "unserializable"
        await house.app.reviews.reject(
            review["review_id"], digest=review["digest"], by="ana", secret=SECRET, comment="no"
        )
        assert crm.records() == []
        house.clean()

    asyncio.run(story())
