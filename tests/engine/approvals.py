"""Who approves what in the tests of authority: a run that waits, a right given and taken back, and what became of it."""

from typing import Any

import pytest

from counterfoil.app.access import Actor
from counterfoil.engine.access import Grant, WithdrawGrant
from counterfoil.model.access import GrantRecord
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked
from tests.engine.house import House, Order
from tests.engine.writes import create_case, writing

ORDER = Order(number="1", amount=700)
THREE = ("ana", "oscar", "mia")


async def opened(house: House, workflow: Any, *, by: Actor | str | None = None) -> tuple[str, ReviewRecord]:
    """A run that waits for its review, with nobody at work."""
    async with house.working():
        submitted = await house.app.runs.submit(workflow.name, ORDER.model_dump(), request_id="r", by=by)
        return submitted["run_id"], await asked(house, submitted["run_id"])


def of_two(house: House) -> Any:
    return writing(house.app, create_case(house.app, review=True, approvals=2))


async def refused(house: House, review: ReviewRecord, by: str) -> str:
    with pytest.raises(Refused) as problem:
        await approve(house, review, by=by)
    return problem.value.code


def granted(house: House, *, role: str = "manager", verb: str = "answer", up_to: int | None = None) -> str:
    """A right given to a role, in its id. From then on only grants count for the role."""
    here = house.app.open()
    grant_id = f"grant_{here.chance.hex(32)}"
    currency = None if up_to is None else "EUR"
    grant = GrantRecord(grant_id, role, verb, None, None, None, up_to, currency, "root", 0, None)
    house.ask(Grant(here.installation_id, grant, None))
    return grant_id


def withdraw(house: House, grant_id: str) -> None:
    house.ask(WithdrawGrant(house.app.open().installation_id, grant_id, None))


async def not_sent(house: House, run_id: str, crm: SandboxProcess) -> ReviewRecord:
    """A worker looks at it: nothing is sent, and the question is put anew."""
    async with house.working():
        again = await asked(house, run_id, 2)
    assert crm.records() == []
    return again


async def doubted(house: House, run_id: str, crm: SandboxProcess) -> None:
    """Sent once, and nobody knows what became of it."""
    crm.fault("drop-reply")
    async with house.working():

        def tried(run: RunRecord) -> bool:
            return run.state.value in ("waiting", "parked") and house.operations(run_id)[0].attempts == 1

        if (await house.until(run_id, tried)).state.value == "waiting":
            house.clock.advance(2)
        assert (await house.state(run_id, "parked")).reason == "outcome_unknown"


async def sent(house: House, run_id: str, crm: SandboxProcess) -> None:
    async with house.working():
        await house.state(run_id, "completed")
    assert len(crm.records()) == 1
    house.clean()
