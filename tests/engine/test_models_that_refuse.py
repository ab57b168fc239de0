"""A provider that refuses a request: the person who is asked reads what it said, and nothing is paid for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from counterfoil import SharedBudget
from counterfoil.agents.refusing import is_final
from counterfoil.testing.model_server.process import ModelServerProcess
from tests.engine.house import BUDGET, House


def desk(house: House, server: ModelServerProcess) -> None:
    provider = OpenAIProvider(base_url=server.base_url, api_key="wrong")
    provider.client.max_retries = 0
    agent = Agent(OpenAIChatModel("local", provider=provider), output_type=str)
    house.app.agent("desk", agent=agent, budget=BUDGET)
    house.app.budget(SharedBudget(name="day", scope="business_day", tokens=10_000, spend_usd=1, owner="ops"))
    house.found()


def said(house: House) -> Any:
    return house.app.conversations.send("hello", conversation="c", request_id="r", agent="desk")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    return House(tmp_path, monkeypatch)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_request_that_is_refused_parks_the_turn_with_what_was_said(house: House, status: int) -> None:
    async def body(server: ModelServerProcess) -> None:
        server.post("fault", {"fault": "refuse", "status": status})
        desk(house, server)
        async with house.working():
            sent = await said(house)
            run = await house.state(sent["run_id"], "parked", "completed")
            assert (run.reason, run.owner, server.requests_answered()) == ("step_failed", "lead", 1)
            assert "Incorrect API key provided" in run.sentence and str(status) in run.sentence
            assert (run.failed_tries, run.spent_micros, run.reserved_micros) == (0, 0, 0)
            for line in house.app.runs.show(run.run_id)["budgets"]:
                assert not float(line["reserved"]) and (line["kind"] == "elapsed" or not float(line["used"])), line
            assert "Incorrect API key provided" in house.app.runs.show(run.run_id)["next_action"]["sentence"]
            (item,) = house.app.inbox.list()["items"]
            assert "Incorrect API key provided" in str(item)
            used = house.app.decisions.usage()["total"]
            assert (used["asked"], used["failed"], used["open"], used["lost"]) == (1, 1, 0, 0)
            house.clean()
            await house.app.runs.retry(run.run_id, by="ana")
            await house.state(run.run_id, "completed")
            assert server.requests_answered() == 2
            used = house.app.decisions.usage()["total"]
            assert (used["asked"], used["failed"], used["decisions"], used["lost"]) == (2, 1, 1, 0)
        house.clean()

    with ModelServerProcess() as server:
        asyncio.run(body(server))


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500])
def test_what_may_pass_is_tried_again(house: House, status: int) -> None:
    async def body(server: ModelServerProcess) -> None:
        server.post("fault", {"fault": "refuse", "status": status})
        desk(house, server)
        async with house.working():
            sent = await said(house)
            await house.until(sent["run_id"], lambda run: run.failed_tries == 1)
            await house.state(sent["run_id"], "waiting")
            house.clock.advance(5)
            assert (await house.state(sent["run_id"], "completed", "parked")).state == "completed"
        assert server.requests_answered() == 2

    with ModelServerProcess() as server:
        asyncio.run(body(server))


def test_of_several_models_each_must_refuse() -> None:
    refused, busy = ModelHTTPError(401, "one"), ModelHTTPError(429, "two")
    assert is_final(FallbackExceptionGroup("all", [refused, refused]))
    assert not is_final(FallbackExceptionGroup("all", [refused, busy]))
    assert not is_final(ConnectionError("401"))
