"""Decisions: asked and saved before anything acts on them; a saved one is reused, a new version is an explicit act."""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import create_case


class Choice(BaseModel):
    """What the test's agent decides."""

    amount: int


class Answer:
    """What an agent's `run` gives back."""

    def __init__(self, amount: int) -> None:
        self.output = Choice(amount=amount)


class CountingAgent:
    """Answers differently at every call; fails while `failing` is above zero."""

    output_type = Choice
    name = "chooser"
    model = "test:counting"

    def __init__(self, failing: int = 0) -> None:
        self.asked: list[Any] = []
        self.failing = failing

    async def run(self, prompt: Any) -> Answer:
        self.asked.append(prompt)
        if self.failing:
            self.failing -= 1
            raise ConnectionError("the model is not reached")
        return Answer(len(self.asked))


def test_a_saved_decision_is_reused_and_a_revision_leaves_both(house: House) -> None:
    agent = CountingAgent()

    @house.app.workflow(version=1, budget=BUDGET)
    async def deciding(run: Run, order: Order) -> list[int]:
        first = await run.decide(agent, order, prompt_version="1")
        await run.sleep(timedelta(hours=1))
        second = await run.revise(
            agent, "again", prompt_version="1", policy_version="rules-2", reason="the reviewer asked"
        )
        await run.sleep(timedelta(hours=1))
        return [first.amount, second.amount]

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(deciding, Order(number="1"), request_id="r")
            for asked in (1, 2):
                await house.until(
                    submitted.run_id,
                    lambda run, asked=asked: run.state.value == "waiting" and len(agent.asked) == asked,
                )
                house.clock.advance(3600)
            assert await submitted.result() == [1, 2]
        decisions = [data for kind, _, data in house.entries(submitted.run_id) if kind == "decision"]
        assert [d["output"] for d in decisions] == [{"amount": 1}, {"amount": 2}]
        assert decisions[1]["revises"] == "1" and decisions[1]["reason"] == "the reviewer asked"
        assert decisions[0]["prompt_version"] == "1" and decisions[0]["model"] == "test:counting"
        assert "policy_version" not in decisions[0] and decisions[1]["policy_version"] == "rules-2"
        house.clean()

    asyncio.run(story())


def test_a_failed_call_counts_and_is_asked_again(house: House) -> None:
    agent = CountingAgent(failing=1)

    @house.app.workflow(version=1, budget=BUDGET)
    async def deciding(run: Run, order: Order) -> int:
        return (await run.decide(agent, order, prompt_version="1")).amount

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(deciding, Order(number="1"), request_id="r")
            await house.until(submitted.run_id, lambda run: run.failed_tries == 1 and run.state.value == "waiting")
            house.clock.advance(2)
            assert await submitted.result() == 2
        assert house.count(submitted.run_id, "lost") == 0 and house.count(submitted.run_id, "asked") == 2
        house.clean()

    asyncio.run(story())


def test_a_spent_budget_of_money_stops_the_next_call(house: House) -> None:
    agent = CountingAgent(failing=1)  # nobody knows what that one cost: its reserve is spent
    poor = Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=0.09, owner="lead")

    @house.app.workflow(version=1, budget=poor)
    async def deciding(run: Run, order: Order) -> int:
        return (await run.decide(agent, order, prompt_version="1")).amount

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(deciding, Order(number="1"), request_id="r")
            await house.until(submitted.run_id, lambda run: run.failed_tries == 1)
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(2)
            run = await house.state(submitted.run_id, "parked")
            assert run.reason == "budget_spend" and len(agent.asked) == 1
            await house.app.runs.resume(submitted.run_id, raises={"spend": "2"}, by="ana")
            assert await submitted.result() == 2
        house.clean()

    asyncio.run(story())


def test_elapsed_time_does_not_count_the_wait_for_people(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    operation = create_case(house.app, review=True)
    hour = Budget(attempts=5, elapsed=timedelta(hours=1), spend_usd=1, owner="lead")

    @house.app.workflow(version=1, budget=hour)
    async def slow(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(slow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
            house.clock.advance(6 * 3600)
            (review,) = house.app.reviews.list()["items"]
            await house.app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET)
            await submitted.result()
        assert len(list(crm.records())) == 1
        house.clean()

    asyncio.run(story())


def test_a_doubt_stops_the_next_model_call(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    agent = CountingAgent()
    with SandboxProcess("none") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        operation = create_case(house.app, "none")

        @house.app.workflow(version=1, budget=BUDGET)
        async def both(run: Run, order: Order) -> int:
            async def writes() -> Receipt:
                return await run.perform(operation, order)

            async def thinks() -> int:
                await run.sleep(timedelta(minutes=1))
                return (await run.decide(agent, order, prompt_version="1")).amount

            results = await run.gather(writes(), thinks())
            return len(results)

        async def story() -> None:
            house.found()
            crm.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(both, Order(number="1"), request_id="r")
                await house.until(submitted.run_id, lambda run: run.failed_tries == 1 and run.state.value != "running")
                house.clock.advance(61)
                run = await house.state(submitted.run_id, "parked")
                assert run.reason == "outcome_unknown" and agent.asked == []
                doubt = house.operations(submitted.run_id)[0]
                await house.app.operations.resolve(
                    doubt.operation_id, as_="succeeded", by="ana", secret=SECRET, reason="seen", evidence=b"list",
                    reference="case-1", expect_version=doubt.version,
                )  # fmt: skip
                house.clock.advance(61)
                assert await submitted.result() == 2
            assert len(agent.asked) == 1
            house.clean()

        asyncio.run(story())
        house.app.close()
