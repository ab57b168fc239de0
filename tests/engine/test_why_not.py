"""Why a form is greyed: the amount, the grants of a role that is held, or the role itself."""

import asyncio
from typing import Any

from counterfoil.app.access import Actor
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.approvals import granted, opened, withdraw
from tests.engine.house import House
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
