"""Budgets in the engine: what an operation draws, what is held and given back, and who lets more be used."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from counterfoil.engine.administration import RegisterWorker, WorkerStopped
from counterfoil.engine.budgets import held_by, shares_of
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.leases import Claim, HolderGone
from counterfoil.engine.port import Run
from counterfoil.model.budget import BudgetRecord, SharedBudget
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import Kind, create_case

CALLS = SharedBudget(
    name="cases", scope="operation", calls={"create_case": 1}, only=frozenset({"create_case"}), owner="ops"
)


def rows(house: House) -> list[BudgetRecord]:
    with house.app.open().read() as reader:
        return list(reader.rows(BudgetRecord))


def figures(house: House) -> list[tuple[str, dict[str, int], dict[str, int], int]]:
    return [(row.name, json.loads(row.used), json.loads(row.reserved), row.unmeasured) for row in rows(house)]


def performing(house: House, kind: Kind = "key") -> Any:
    operation = create_case(house.app, kind)

    @house.app.workflow(version=1, budget=BUDGET)
    async def performs(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    return performs


def test_an_operation_is_one_call_and_the_next_is_not_sent(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    performs = performing(house)
    house.app.budget(CALLS)

    async def story() -> None:
        house.found()
        async with house.working():
            first = await house.app.submit(performs, Order(number="1"), request_id="1")
            await first.result()
            second = await house.app.submit(performs, Order(number="2"), request_id="2")
            run = await house.state(second.run_id, "parked")
            assert (run.reason, run.owner, len(list(crm.records()))) == ("budget_calls", "ops", 1)
            (waiting,) = house.operations(second.run_id)
            assert (waiting.status.value, waiting.sent, waiting.attempts) == ("prepared", 0, 0)
            (shown,) = house.app.budgets.list()["items"]
            assert shown["waiting"] == [second.run_id] and shown["limits"][0]["used"] == 1
            await house.app.budgets.lift(
                "budget-1", by="oscar", secret=SECRET, reason="counted", raises={"calls:create_case": 2}
            )
            await second.result()
        assert len(list(crm.records())) == 2
        (act,) = [act for act in house.app.audit.list()["items"] if act["verb"] == "budget"]
        assert (act["person"], act["what"]) == ("oscar", "raised calls:create_case to 2 of cases create_case: counted")
        house.clean()

    asyncio.run(story())


ONE_TRY = SharedBudget(name="tries", scope="workflow", attempts=1, owner="ops")


def test_a_spent_budget_stops_the_repeat(house_with_crm: House, crm: SandboxProcess) -> None:
    """The reply is lost: that was the one attempt there is. The repeat waits for the owner, though its key makes it harmless."""
    house = house_with_crm
    performs = performing(house)
    house.app.budget(ONE_TRY)

    async def story() -> None:
        house.found()
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(performs, Order(number="1"), request_id="1")
            run = await house.state(submitted.run_id, "parked")
            assert (run.reason, run.owner, len(list(crm.records()))) == ("budget_attempts", "ops", 1)
            assert figures(house)[0][1]["attempts"] == 1 and not figures(house)[0][2], "what ended holds nothing"
            (doubt,) = house.operations(submitted.run_id)
            assert (doubt.attempts, doubt.sent, doubt.status.closed) == (1, 1, False)
            await house.app.budgets.lift("1", by="oscar", secret=SECRET, reason="seen", raises={"attempts": 3})
            house.clock.advance(5)
            await submitted.result()
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


def test_a_spent_budget_never_stops_a_question(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    performs = performing(house, "lookup")
    house.app.budget(ONE_TRY)

    async def story() -> None:
        house.found()
        with SandboxProcess("lookup") as receiver:
            house.app.registry.receivers["crm"] = replace(house.app.registry.receivers["crm"], url=receiver.url)
            receiver.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(performs, Order(number="1"), request_id="1")
                await submitted.result()
            (operation,) = house.operations(submitted.run_id)
            assert (operation.attempts, figures(house)[0][1]["attempts"]) == (1, 1)
            assert len(list(receiver.records())) == 1
        house.clean()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"by": "bea"}, "role_missing"),
        ({"secret": "wrong"}, "wrong_secret"),
        ({"raises": {"calls:create_case": 1}}, "limit_not_higher"),
        ({"raises": {"tokens": 9}}, "usage"),
        ({"raises": {"minutes": 9}}, "usage"),
        ({"raises": {"calls:create_case": "much"}}, "usage"),
        ({"raises": {}}, "usage"),
        ({"reason": " "}, "usage"),
        ({"budget": "budget-9"}, "not_found"),
    ],
)
def test_who_may_raise_what(house_with_crm: House, change: dict[str, Any], code: str) -> None:
    house = house_with_crm
    performs = performing(house)
    house.app.budget(CALLS)
    given: dict[str, Any] = {
        "budget": "1", "by": "oscar", "secret": SECRET, "reason": "seen", "raises": {"calls:create_case": 2},
    } | change  # fmt: skip

    async def story() -> None:
        house.found()
        await house.app.people.add("bea", roles=["guest"], secret=SECRET)
        async with house.working():
            await (await house.app.submit(performs, Order(number="1"), request_id="1")).result()
            before = rows(house)
            with pytest.raises(Refused) as refused:
                await house.app.budgets.lift(given.pop("budget"), **given)
            assert refused.value.code == code and rows(house) == before
        house.clean()

    asyncio.run(story())


class Asking:
    """A worker's model calls, verb by verb."""

    def __init__(self, house: House, run_id: str) -> None:
        self.house, self.run_id, self.opened = house, run_id, house.app.open()
        house.ask(RegisterWorker("wrk_a", "host", "boot", 1, {}))
        self.claim()

    def claim(self) -> None:
        self.fence = self.house.ask(Claim(self.run_id, "wrk_a", self.opened.deadlines)).fence

    def dies(self) -> None:
        self.house.ask(HolderGone(self.run_id, "wrk_a", self.fence))

    def asks(self, position: str, *, lost: bool = False) -> Any:
        run = self.house.run(self.run_id)
        shares = shares_of(self.house.app.registry, run, "clerk", self.house.clock.now_us())
        data = {"in": position, "n": 1, "lost": lost}
        held = held_by(run, {position})
        return self.house.ask(
            AskModel(
                self.run_id, self.fence, position, "decide clerk", data, 50_000, self.opened.deadlines, "clerk", int(lost), shares,
                held,
            )
        )  # fmt: skip

    def accepts(self, position: str) -> None:
        shares = shares_of(self.house.app.registry, self.house.run(self.run_id), "clerk", self.house.clock.now_us())
        data = {"in": position, "output": 1, "usage": {"input_tokens": 70, "output_tokens": 7}, "cost_micros": 9}
        self.house.ask(
            AcceptDecision(
                self.run_id, self.fence, position, "decide clerk", data, 50_000, self.opened.deadlines, shares
            )
        )  # fmt: skip


def asking(house: House) -> Asking:
    @house.app.workflow(version=1, budget=BUDGET)
    async def nothing(run: Run, order: Order) -> int:
        return 0

    house.app.budget(SharedBudget(name="day", scope="business_day", tokens=100_000, owner="ops"))
    house.found()
    return Asking(house, asyncio.run(house.app.submit(nothing, Order(number="1"), request_id="1")).run_id)


def test_one_lost_call_leaves_what_another_holds(house: House) -> None:
    at = asking(house)
    at.asks("1")
    at.asks("2")
    assert figures(house) == [
        ("day", {}, {"attempts": 2, "elapsed_us": 120_000_000, "tokens": 4000, "spend_micros": 100_000}, 0)
    ]
    assert house.run(at.run_id).reserved_micros == 100_000
    at.accepts("2")
    at.dies()
    at.claim()
    at.asks("1", lost=True)
    run = house.run(at.run_id)
    assert (run.spent_micros, run.reserved_micros) == (50_009, 50_000), (
        "the lost one and the accepted one; one in flight"
    )
    ((_, used, reserved, unmeasured),) = figures(house)
    assert used == {"tokens": 2077, "spend_micros": 50_009, "elapsed_us": 60_000_000, "attempts": 1}
    assert (
        reserved == {"attempts": 1, "elapsed_us": 60_000_000, "tokens": 2000, "spend_micros": 50_000}
        and unmeasured == 1
    )
    house.clean()


def test_every_reserve_ends_with_its_run(house: House) -> None:
    at = asking(house)
    at.asks("1")
    at.dies()
    asyncio.run(house.app.runs.cancel(at.run_id, by="ana", reason="enough"))
    house.ask(WorkerStopped("wrk_a"))

    async def story() -> None:
        async with house.working():
            run = await house.state(at.run_id, "cancelled")
            assert (run.spent_micros, run.reserved_micros, run.draws) == (50_000, 0, None)
        ((_, used, reserved, unmeasured),) = figures(house)
        assert used["tokens"] == 2000 and not any(reserved.values()) and unmeasured == 1
        house.clean()

    asyncio.run(story())


def test_a_day_that_began_meanwhile_gets_nothing_of_a_call_before_it(house: House) -> None:
    """What a call held is given back where it was held."""
    at = asking(house)
    run = house.run(at.run_id)
    before = shares_of(house.app.registry, run, "clerk", house.clock.now_us())
    at.asks("1")
    house.clock.advance(24 * 3600)
    data = {"in": "1", "output": 1, "usage": {"input_tokens": 5, "output_tokens": 0}, "cost_micros": 1}
    house.ask(AcceptDecision(at.run_id, at.fence, "1", "decide clerk", data, 50_000, at.opened.deadlines, before))
    at.asks("2")
    (first, second) = rows(house)
    assert first.key < second.key and json.loads(first.used)["tokens"] == 5 and not json.loads(first.reserved)
    assert json.loads(second.used) == {} and json.loads(second.reserved)["tokens"] == 2000
    house.clean()
