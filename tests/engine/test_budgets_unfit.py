"""A budget that could not be kept, or that would limit nothing, is refused before anything runs."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from counterfoil.agents import agent_tool
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget, SharedBudget
from counterfoil.model.errors import Refused
from counterfoil.model.people import Owner
from tests.engine.house import BUDGET, House, Order

UNFIT = {
    "nothing": SharedBudget(name="b", scope="workflow", owner="ops"),
    "zero": SharedBudget(name="b", scope="workflow", tokens=0, owner="ops"),
    "below": SharedBudget(name="b", scope="workflow", calls={"pay": -1}, owner="ops"),
    "nobody": SharedBudget(name="b", scope="workflow", tokens=1, owner=" "),
    "zone": SharedBudget(name="b", scope="business_day", tokens=1, zone="Atlantis/Capital", owner="ops"),
    "scope": SharedBudget(name="b", scope="run", tokens=1, owner="ops"),  # type: ignore[arg-type]
    "name": SharedBudget(name="run", scope="workflow", tokens=1, owner="ops"),
    "text": SharedBudget(name="b", scope="operation", tokens=1, only="send_mail", owner="ops"),  # type: ignore[arg-type]
    "narrowed": SharedBudget(name="b", scope="conversation", tokens=1, only=frozenset({"desk"}), owner="ops"),
    "infinite": SharedBudget(name="b", scope="workflow", spend_usd=float("inf"), owner="ops"),
    "less than nothing": SharedBudget(name="b", scope="workflow", spend_usd=1e-9, owner="ops"),
}
OF_A_RUN: dict[str, tuple[dict[str, Any], str]] = {
    "no attempts": ({"attempts": 0}, "attempts is 0"),
    "half an attempt": ({"attempts": 1.5}, "attempts is 1.5"),
    "no attempt ever": ({"attempts": float("nan")}, "attempts is nan"),
    "no time": ({"elapsed": timedelta(0)}, "elapsed"),
    "time before": ({"elapsed": timedelta(days=-1)}, "elapsed"),
    "no money": ({"spend_usd": 0}, "spend_usd is 0"),
    "debts": ({"spend_usd": -3}, "spend_usd is -3"),
    "unknown money": ({"spend_usd": float("nan")}, "spend_usd is nan"),
    "all money": ({"spend_usd": float("inf")}, "spend_usd is inf"),
    "not one call": ({"spend_usd": 0.04}, "holds 0.05 USD in reserve"),
    "dust": ({"spend_usd": 1e-9}, "spend_usd is 1e-09"),
    "no tokens": ({"tokens": 0}, "tokens is 0"),
    "no calls": ({"calls": {"pay": 0}}, "calls of pay is 0"),
    "calls for ever": ({"calls": {"pay": float("inf")}}, "calls of pay is inf"),
    "nobody": ({"owner": ""}, "names no owner"),
    "nobody within": ({"owner": Owner("", within=timedelta(hours=1))}, "names no owner"),
}


@pytest.mark.parametrize("budget", UNFIT.values(), ids=UNFIT)
def test_a_shared_budget_that_cannot_be_kept_is_refused_at_once(house: House, budget: SharedBudget) -> None:
    with pytest.raises(Refused) as refused:
        house.app.budget(budget)
    assert refused.value.code == "budget_unfit" and not house.app.registry.budgets


@pytest.mark.parametrize("of", ["workflow", "agent"])
@pytest.mark.parametrize(("change", "problem"), OF_A_RUN.values(), ids=OF_A_RUN)
def test_a_budget_of_a_run_that_cannot_be_kept_is_refused_at_once(
    house: House, of: str, change: dict[str, Any], problem: str
) -> None:
    budget = replace(BUDGET, **change)
    with pytest.raises(Refused) as refused:
        declared(house, of, budget)
    assert refused.value.code == "budget_unfit" and problem in refused.value.message
    assert "desk" not in str(house.app.registry.workflows)


def declared(house: House, of: str, budget: Budget) -> None:
    if of == "agent":
        house.app.agent("desk", agent=Agent(TestModel()), budget=budget)
    else:
        workflow(house, budget)


def workflow(house: House, budget: Budget) -> Any:
    @house.app.workflow(version=1, budget=budget)
    async def waits(run: Run, order: Order) -> None:
        await run.sleep(timedelta(1))

    return waits


def test_a_name_is_declared_once_and_its_owner_is_somebody(house: House) -> None:
    waits = workflow(house, BUDGET)
    house.app.budget(SharedBudget(name="b", scope="workflow", tokens=9, owner="nobody"))
    with pytest.raises(Refused) as taken:
        house.app.budget(SharedBudget(name="b", scope="business_day", tokens=9, owner="ops"))
    assert taken.value.code == "name_taken"
    house.found()
    with pytest.raises(Refused) as unknown:
        asyncio.run(house.app.submit(waits, Order(number="1"), request_id="1"))
    assert unknown.value.code == "unknown_owner"


def look() -> str:
    """Look."""
    return "seen"


def desk(house: House, *, replay: Any = "safe", **limits: Any) -> None:
    agent = Agent(TestModel())

    async def part() -> str:
        return "seen"

    agent.tool_plain(agent_tool(replay=replay)(part if replay == "run" else look))
    house.app.agent("desk", agent=agent, budget=replace(BUDGET, **limits))


def starts(house: House) -> str:
    """What a worker is told at its start."""
    house.found()

    async def body() -> None:
        house.app.new_worker()

    try:
        asyncio.run(body())
    except Refused as refused:
        assert refused.code == "budget_unfit"
        return refused.message
    return "started"


TYPED_WRONG = {
    "calls": {"calls": {"lok": 1}},
    "operation": {"scope": "operation", "only": frozenset({"lok"}), "tokens": 9},
    "workflow": {"scope": "workflow", "only": frozenset({"dsk"}), "tokens": 9},
    "all": {"scope": "business_day", "calls": {"lok": 1}},
}


@pytest.mark.parametrize("wrong", TYPED_WRONG.values(), ids=TYPED_WRONG)
def test_a_name_that_nothing_has_is_refused_at_start(house: House, wrong: dict[str, Any]) -> None:
    shared = "scope" in wrong
    desk(house, **({} if shared else wrong))
    if shared:
        house.app.budget(SharedBudget(name="b", owner="ops", **wrong))
    assert "called" in starts(house)


def test_a_name_that_is_there_is_taken(house: House) -> None:
    desk(house, calls={"look": 1})
    house.app.budget(SharedBudget(name="b", scope="operation", only=frozenset({"look", "desk"}), tokens=9, owner="ops"))
    house.app.budget(SharedBudget(name="c", scope="workflow", only=frozenset({"desk"}), tokens=9, owner="ops"))
    assert starts(house) == "started"


@pytest.mark.parametrize("other", ["workflow", "part"])
def test_where_code_does_not_show_every_name_nothing_is_said(house: House, other: str) -> None:
    """The steps of a workflow, and what a part of one calls, show when they run."""
    if other == "workflow":
        workflow(house, replace(BUDGET, calls={"a step": 1}))
    desk(house, replay="run" if other == "part" else "safe", calls={"a step": 1} if other == "part" else {})
    house.app.budget(SharedBudget(name="b", scope="business_day", calls={"a step": 1}, owner="ops"))
    assert starts(house) == "started"
