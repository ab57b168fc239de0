"""After a restore: records that the ledger does not know are adopted, and nobody makes them again."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.engine.definitions import Workflow
from counterfoil.engine.listing import ListAsk
from counterfoil.engine.port import Call, Run
from counterfoil.model.contract import Contract, Listed, Reference, Stretch
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import contract


async def list_cases(ask: ListAsk) -> Stretch[Receipt]:
    """One at a time, as a receiver with small pages would."""
    params = {"limit": 1} | ({} if ask.after is None else {"starting_after": ask.after})
    page = (await ask.http.get("/cases", params=params)).json()
    records = [
        Listed(r["reference"], Receipt(reference=r["id"]), payload=Order.model_validate(r["payload"]))
        for r in page["data"]
    ]
    return Stretch(records, after=page["data"][-1]["id"] if page["has_more"] else None)


def listing(contract_: Contract) -> Contract:
    assert contract_.lookup is not None
    return replace(contract_, lookup=replace(contract_.lookup, lists=list_cases))


def test_a_contract_that_does_not_list_has_the_digest_that_it_had() -> None:
    plain = contract("lookup")
    assert "lists" not in plain.stored()["lookup"]
    assert listing(plain).digest() != plain.digest()
    assert Contract.from_stored(listing(plain).stored()).stored() == listing(plain).stored()


class Lost:
    """A backup of a ledger that knew no run; then orders were sent; then the backup is put back, its marker's heads gone."""

    def __init__(self, house: House, crm: SandboxProcess) -> None:
        self.house, self.crm, self.words = house, crm, 1
        self.operations: dict[str, str] = {}
        self.workflow = self._workflow()

    def _workflow(self) -> Workflow[Any, Any]:
        async def create_case(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            return Receipt(reference=reply.json()["id"])

        made = replace(listing(contract("lookup")), reference=Reference(header="Counterfoil-Operation"))
        decorate = self.house.app.operation(receiver="crm", contract=made, business_key="number", owner="lead")
        operation = decorate(create_case)

        async def writing(run: Run, order: Order) -> Receipt:
            return await run.perform(operation, order.model_copy(update={"amount": self.words}))

        return self.house.app.workflow(version=1, budget=BUDGET)(writing)

    async def order(self, number: str, request: str, *states: str) -> str:
        submitted = await self.house.app.submit(self.workflow, Order(number=number), request_id=request)
        await self.house.state(submitted.run_id, *(states or ("completed",)))
        return submitted.run_id

    async def sent(self, *numbers: str) -> None:
        self.house.found()
        self.house.app.close()
        shutil.copytree(self.house.folder / "db", self.house.folder / "kept")
        async with self.house.working():
            for number in numbers:
                run_id = await self.order(number, f"r-{number}")
                self.operations[number] = self.house.operations(run_id)[0].operation_id
        self.house.app.close()
        shutil.rmtree(self.house.folder / "db")
        os.rename(self.house.folder / "kept", self.house.folder / "db")
        for heads in (self.house.folder / "state").rglob("*.heads"):
            heads.unlink()  # nothing outside names the lost runs any more: only the receiver does
        assert self.house.app.restore.status()["suspended"]

    async def reconciled(self) -> dict[str, Any]:
        return (await self.house.app.restore.reconcile())["reconciled"]

    async def finished(self) -> None:
        await self.house.app.restore.finish(as_="restored", by="oscar", secret=SECRET, reason="Nobody sends.")


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lost]:
    with SandboxProcess("lookup") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        yield Lost(house, crm)
        house.app.close()


def test_what_is_planned_again_gets_the_adopted_receipt_or_a_person(lost: Lost) -> None:
    async def story() -> None:
        await lost.sent("1", "2", "3", "4")
        came = await lost.reconciled()
        assert (came["adopted"], came["problems"], came["asked"]) == (4, {}, 0)
        assert (await lost.reconciled())["adopted"] == 0, "nothing is adopted twice"
        status = lost.house.app.restore.status()
        assert (status["adopted"], status["orphans"]) == (4, 4)
        await lost.finished()
        async with lost.house.working():
            same = await lost.order("1", "r-1")  # the same identity, the same words
            (known,) = lost.house.operations(same)
            assert (known.operation_id, known.attempts) == (lost.operations["1"], 0)
            assert known.receipt_id is not None
            other_run = await lost.order("2", "r-2 again")  # another identity, the same intention
            (reused,) = lost.house.operations(other_run)
            assert reused.operation_id != lost.operations["2"] and (reused.status.value, reused.attempts) == (
                "succeeded",
                0,
            )
            lost.words = 2
            words = await lost.order("3", "r-3", "parked")  # the same identity, other words
            assert lost.house.run(words).reason == "receiver_mismatch"
        left = lost.house.app.restore.status()
        assert (left["adopted"], left["orphans"]) == (4, 1)
        (orphan,) = lost.house.app.receipts.list(orphans=True)["items"]
        assert orphan["own_id"] == str(lost.crm.records()[3]["id"]) and orphan["next_action"]["command"]
        assert len(lost.crm.records()) == len(lost.crm.requests()) == 4, "nothing was sent again"
        lost.house.clean()

    asyncio.run(story())


def test_another_identity_with_other_words_is_a_persons(lost: Lost) -> None:
    async def story() -> None:
        await lost.sent("1")
        await lost.reconciled()
        await lost.finished()
        lost.words = 2
        async with lost.house.working():
            run_id = await lost.order("1", "r-1 again", "parked")
            assert lost.house.run(run_id).reason == "business_key_conflict"
        assert len(lost.crm.records()) == 1
        lost.house.clean()

    asyncio.run(story())


def test_a_listing_that_fails_is_named_and_the_next_call_lists_anew(
    lost: Lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        await lost.sent("1")
        monkeypatch.setenv("CRM_URL", "http://127.0.0.1:9")
        came = await lost.reconciled()
        assert (came["adopted"], came["unreachable"], list(came["problems"])) == (0, ["crm"], ["create_case"])
        monkeypatch.setenv("CRM_URL", lost.crm.url)
        assert (await lost.reconciled())["adopted"] == 1

    asyncio.run(story())
