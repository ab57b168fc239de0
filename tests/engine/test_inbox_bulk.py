"""After an outage: hundreds of unknown outcomes, brought to none by one lookup of many, and what cannot be moved so."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from counterfoil.app.access import Actor
from counterfoil.engine.port import Call
from counterfoil.engine.writer import Touched
from counterfoil.model.contract import Contract, Lookup, Reference
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import CLASSIFIER, find_case, writing

MANY = 400
BEHIND = 3600.0  # seconds by which the receiver's list lags behind what it has accepted, or twice as far
LAGGING = SandboxContract(
    kind="lagging", key_header=None, lookup_by=frozenset({"reference"}), lookup_lag_seconds=BEHIND, lookup_consistency="eventual"
)  # fmt: skip
UNKNOWN = InboxFilter(reason="outcome_unknown")


@pytest.fixture
def outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[House, SandboxProcess, Any]]:
    """A receiver that accepts every write, loses every reply, and whose list does not show them yet."""
    with SandboxProcess(LAGGING) as crm:
        house = House(tmp_path, monkeypatch, crm.url)

        async def create_case(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            return Receipt(reference=reply.json()["id"])

        asks = Lookup(find_case, consistency="eventual", finds_by="operation_id")
        contract = Contract(
            api_version="1", duplicate="costly", classifier=CLASSIFIER, lookup=asks,
            reference=Reference(header="Counterfoil-Operation"),
        )  # fmt: skip
        operation = house.app.operation(receiver="crm", contract=contract, business_key="number", owner="lead")(
            create_case
        )
        workflow = writing(house.app, operation)
        house.found()
        yield house, crm, workflow
        house.clean()
        house.app.close()


async def left_unknown(house: House, crm: SandboxProcess, workflow: Any, count: int) -> None:
    """Submit so many, lose every reply, and stop once every run is parked."""
    crm.fault("drop-reply", count=count)
    orders = (house.app.submit(workflow, Order(number=str(n)), request_id=f"r-{n}") for n in range(count))
    await asyncio.gather(*orders)
    async with house.working():
        await in_state(house, count, "waiting", "parked")
        house.clock.advance(60)  # past the deadline of every attempt
        await in_state(house, count, "parked")
    assert len(crm.records()) == count


async def in_state(house: House, count: int, *states: str) -> None:
    """Wait for commits until so many runs are in these states. A busy machine may take long over hundreds."""
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def committed(run_ids: Touched) -> None:
        del run_ids
        loop.call_soon_threadsafe(changed.set)

    opened = house.app.open()
    opened.listeners.add(committed)
    try:
        async with asyncio.timeout(180):
            while True:
                changed.clear()
                if sum(_count(house, state) for state in states) >= count:
                    return
                await changed.wait()
    finally:
        opened.listeners.discard(committed)


def _count(house: House, state: str) -> int:
    with house.app.open().read() as reader:
        return len(reader.lists.runs(state=state, limit=MANY).items)


def unknown(house: House) -> int:
    with house.app.open().read() as reader:
        return len(reader.unresolved())


def test_four_hundred_unknowns_are_brought_to_none_by_one_lookup(outage: tuple[House, SandboxProcess, Any]) -> None:
    house, crm, workflow = outage

    async def body() -> float:
        await left_unknown(house, crm, workflow, MANY)
        assert unknown(house) == MANY
        inbox = house.app.inbox
        assert inbox.counts()["reasons"] == [{"reason": "outcome_unknown", "count": MANY, "overdue": 0}]
        seen = inbox.preview("lookup", UNKNOWN)
        assert (seen["count"], seen["left_out"], len(seen["items"])) == (MANY, 0, 50)
        assert all(item["next_action"]["code"] == "resolve" for item in seen["items"])
        crm.advance(2 * BEHIND)  # the outage is over: the list shows what was accepted
        began = perf_counter()
        told = await inbox.carry_out("lookup", UNKNOWN, count=MANY, digest=seen["digest"], by="ana", secret=SECRET)
        took = perf_counter() - began
        assert [each["state"] for each in told["done"]] == ["succeeded"] * MANY and told["refused"] == []
        assert unknown(house) == 0
        acts = house.app.audit.list(limit=MANY + 1)["items"]
        assert [(act["person"], act["what"]) for act in acts] == [("ana", "looked up create_case: match")] * MANY
        assert inbox.counts()["total"] == 0
        async with house.working():
            await in_state(house, MANY, "completed")
        assert len(crm.records()) == MANY, "asking sends nothing"
        return took

    took = asyncio.run(body())
    print(f"{MANY} unknown operations were looked up and closed in {took:.2f} s")


def test_a_lookup_of_many_that_shows_nothing_changes_nothing(outage: tuple[House, SandboxProcess, Any]) -> None:
    house, crm, workflow = outage

    async def body() -> None:
        await left_unknown(house, crm, workflow, 3)
        house.clock.advance(60)
        told = await house.app.inbox.carry_out("lookup", UNKNOWN, count=3, by="ana", secret=SECRET)
        assert [each["state"] for each in told["done"]] == ["unknown"] * 3
        assert house.app.inbox.counts()["total"] == 3
        crm.close()
        told = await house.app.inbox.carry_out("lookup", UNKNOWN, count=3, by="ana", secret=SECRET)
        assert [each["state"] for each in told["done"]] == ["unknown"] * 3, "out of reach proves nothing"

    asyncio.run(body())


def test_what_many_cannot_be_moved_by_is_left_out_or_refused_one_by_one(
    outage: tuple[House, SandboxProcess, Any],
) -> None:
    house, crm, workflow = outage
    ana = house.app.access.by_secret("ana", SECRET)

    async def body() -> None:
        await left_unknown(house, crm, workflow, 3)
        inbox = house.app.inbox
        assert inbox.preview("resume", UNKNOWN) | {"digest": ""} == {
            "act": "resume", "count": 0, "left_out": 3, "digest": "", "items": [],
        }  # fmt: skip
        for act in ("resolve", "approve", "retry"):
            with pytest.raises(Refused, match="not done by filter"):
                inbox.preview(act)  # type: ignore[arg-type] - what a user may ask
        taken = await inbox.carry_out("hand-over", UNKNOWN, count=3, to="oscar", by=ana)
        assert [each["state"] for each in taken["done"]] == ["oscar"] * 3
        refused = await inbox.carry_out("hand-over", UNKNOWN, count=3, to="nobody", by=ana)
        assert [each["code"] for each in refused["refused"]] == ["unknown_owner"] * 3 and refused["done"] == []
        with pytest.raises(Refused) as caught:
            await inbox.carry_out("cancel", UNKNOWN, count=4, by=ana)
        assert caught.value.code == "selection_changed"
        await _cancelled(house, ana)

    asyncio.run(body())


async def _cancelled(house: House, ana: Actor) -> None:
    """Cancelling what is in doubt withdraws the wish; nobody is told that it did not happen."""
    told = await house.app.inbox.carry_out("cancel", UNKNOWN, count=3, reason="not wanted", by=ana)
    assert [each["state"] for each in told["done"]] == ["parked"] * 3
    assert house.app.inbox.counts()["total"] == 3 and unknown(house) == 3
    acts = house.app.audit.list(limit=3)["items"]
    assert [(act["person"], act["what"]) for act in acts] == [("ana", "asked to cancel: not wanted")] * 3
