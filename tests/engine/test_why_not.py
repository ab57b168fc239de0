"""Who may, before it is tried: why a form is greyed, and whom a printed command names."""

import asyncio
from typing import Any

from counterfoil.app.access import Actor
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.approvals import granted, opened, withdraw
from tests.engine.house import House, Order
from tests.engine.writes import create_case, writing


def test_what_is_missing_is_said(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        _, review = await opened(house, workflow)

        def why(person: str) -> Any:
            return house.app.desk(Actor(person, "secret")).evidence.question(review.review_id)["forbidden"]

        assert why("ana") is None
        low = granted(house, up_to=699)  # the payload costs 700
        granted(house, verb="read")
        assert why("ana") == "The amount is above what you may decide; ask somebody with a higher limit."
        withdraw(house, low)
        assert why("ana") == "You hold manager, but its grants do not cover this; ask an administrator for one."
        assert why("root") == "You hold no role that may do that here; it is for manager."

    asyncio.run(story())


def test_a_printed_command_names_somebody_whose_approval_would_count(
    house_with_crm: House, crm: SandboxProcess
) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        run = await house.app.submit(workflow, Order(number="1", amount=700), request_id="r-1", by="ana")
        async with house.working():
            await house.state(run.run_id, "waiting")

        def named() -> str:
            return house.app.runs.show(run.run_id)["next_action"]["command"].partition(" --db ")[0]

        assert named().endswith(" --by oscar"), "ana proposed it"
        low = granted(house, up_to=699)
        assert "--by" not in named(), "nobody may: who types it says who it is"
        granted(house, role="oscar", up_to=700)
        withdraw(house, low)
        assert named().endswith(" --by oscar"), "his own name's grant covers it"

    asyncio.run(story())
