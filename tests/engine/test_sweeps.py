"""The witness sweep: duplicates that were made are found, with evidence, at a bounded rate, and nothing is ever sent."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.model.delivery import SweepRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import approve, asked, submit
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import create_case, writing

MINUTE, DAY = 60, 86_400


@pytest.fixture(scope="module")
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("lookup") as process:
        yield process


class Swept:
    """A house whose receiver can be asked, and who else writes there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> None:
        self.house, self.crm, self.review = House(folder, monkeypatch, crm.url), crm, False
        self.patch = monkeypatch

    def begin(self, *counts_as: str, review: bool = False) -> None:
        app, self.review = self.house.app, review
        operation = create_case(app, "lookup", review=review)
        counted = replace(operation.contract, counts_as=frozenset(counts_as))
        app.registry.operations[operation.name] = operation = replace(operation, contract=counted)
        self.workflow = writing(app, operation)
        self.house.found()

    async def wrote(self, number: str) -> Any:
        run_id = await submit(self.house, self.workflow, Order(number=number), f"r-{number}")
        if self.review:
            await approve(self.house, await asked(self.house, run_id))
        await self.house.state(run_id, "completed", "parked", "failed")
        return self.house.operations(run_id)[0]

    def duplicated(self, operation: Any, number: str = "1") -> None:
        """Another record at the receiver under our reference."""
        body, headers = Order(number=number).model_dump(), {"Counterfoil-Operation": operation.operation_id}
        assert httpx2.post(f"{self.crm.url}/cases", json=body, headers=headers).status_code == 201

    async def duty(self) -> None:
        await Rounds(self.house.app, [duty for duty in DUTIES if duty.name == "sweep"]).once()

    async def after(self, seconds: float) -> None:
        self.house.clock.advance(seconds)
        await self.duty()

    def rows(self) -> list[SweepRecord]:
        with self.house.app.open().read() as reader:
            return list(reader.rows(SweepRecord))

    def incidents(self) -> list[dict[str, Any]]:
        return self.house.app.incidents.list(open_only=True)["items"]

    def writes(self) -> int:
        return len(self.crm.requests())


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> Iterator[Swept]:
    made = Swept(tmp_path, monkeypatch, crm)
    yield made
    made.house.clean()
    made.house.app.close()


def test_one_record_is_counted_ever_more_rarely_and_leaves_nothing(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference", "type")
        async with swept.house.working():
            operation = await swept.wrote("1")
        writes, entries = swept.writes(), swept.house.entries(operation.run_id)
        await swept.duty()
        assert [row.asked for row in swept.rows()] == [0], "it may not show yet"
        for seconds, times in (
            (6 * MINUTE, 1),
            (MINUTE + 1, 1),
            (DAY, 2),
            (DAY, 2),
            (7 * DAY, 3),
            (31 * DAY, 4),
            (99 * DAY, 4),
        ):
            await swept.after(seconds)
            assert [(row.asked, row.count) for row in swept.rows()] == [(times, 1)]
        assert swept.writes() == writes and swept.house.entries(operation.run_id) == entries
        assert swept.incidents() == []

    asyncio.run(story())


def test_a_second_record_is_an_incident_that_names_whose_it_is(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference", review=True)
        async with swept.house.working():
            operation = await swept.wrote("1")
        swept.duplicated(operation)
        writes = swept.writes()
        await swept.after(6 * MINUTE)
        (incident,) = swept.incidents()
        assert incident["operation_id"] == operation.operation_id and incident["business_key"] is not None
        assert "op-1 of run-1, approved by ana" in incident["what"]
        assert "receipt of op-1" in incident["what"] and "no receipt of ours" in incident["what"]
        assert len(incident["evidence"][0]) > 0 and swept.writes() == writes
        assert swept.house.operations(operation.run_id)[0].status.value == "succeeded"
        # A person weighs it once: the same records again say nothing new.
        await swept.house.app.incidents.close(
            incident["incident_id"], by="oscar", secret=SECRET, reason="refunded by hand"
        )
        for _ in range(2):
            await swept.after(9 * DAY)
        assert swept.incidents() == []
        swept.duplicated(operation)
        await swept.after(31 * DAY)
        assert len(swept.incidents()) == 1, "a third record is new"

    asyncio.run(story())


def test_seen_once_is_not_seen_twice(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference", "seen_twice")
        async with swept.house.working():
            operation = await swept.wrote("1")
        swept.duplicated(operation)
        await swept.after(6 * MINUTE)
        assert swept.incidents() == [] and swept.rows()[0].since is not None
        await swept.after(2 * MINUTE)
        assert len(swept.incidents()) == 1

    asyncio.run(story())


def test_where_the_contract_does_not_say_that_it_is_ours_it_is_a_notice(swept: Swept) -> None:
    async def story() -> None:
        swept.begin()
        async with swept.house.working():
            operation = await swept.wrote("1")
        swept.duplicated(operation)
        swept.house.clock.advance(6 * MINUTE)
        found = await swept.house.app.receipts.sweep()
        assert found["duplicates"] == [] and swept.incidents() == []
        (notice,) = found["notices"]
        assert (notice["number"], notice["records"]) == (operation.number, 2) and "2 records" in notice["notice"]

    asyncio.run(story())


def test_a_record_of_what_was_refused_is_an_incident(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference")
        async with swept.house.working():
            swept.crm.fault("refuse")
            operation = await swept.wrote("1")
            assert operation.status.value == "failed"
        await swept.after(6 * MINUTE)
        assert swept.incidents() == []
        swept.duplicated(operation)
        await swept.after(2 * DAY)
        assert len(swept.incidents()) == 1

    asyncio.run(story())


def test_a_round_asks_no_more_than_its_share_and_the_next_goes_on(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference")
        swept.patch.setenv("COUNTERFOIL_SWEEP_PER_MINUTE", "2")
        async with swept.house.working():
            for number in ("1", "2", "3"):
                await swept.wrote(number)
        lookups = len(swept.crm.lookups())
        await swept.after(6 * MINUTE)
        assert sorted(row.asked for row in swept.rows()) == [0, 1, 1]
        assert len(swept.crm.lookups()) == lookups + 2
        await swept.after(MINUTE + 1)
        assert [row.asked for row in swept.rows()] == [1, 1, 1]
        swept.house.clock.advance(1)
        again = await swept.house.app.receipts.sweep(again=True, limit=2)
        assert (again["asked"], again["left"]) == (2, True)

    asyncio.run(story())


def test_a_receiver_out_of_reach_is_asked_once_in_a_round(swept: Swept) -> None:
    async def story() -> None:
        swept.begin("reference")
        async with swept.house.working():
            for number in ("1", "2"):
                await swept.wrote(number)
        swept.house.clock.advance(6 * MINUTE)
        url = swept.crm.url
        swept.patch.setattr(
            swept.house.app.open(), "environ", {**swept.house.app.open().environ, "CRM_URL": "http://127.0.0.1:9"}
        )
        found = await swept.house.app.receipts.sweep()
        assert (found["asked"], found["unreachable"], found["left"]) == (1, ["crm"], True)
        assert sorted(row.problem is None for row in swept.rows()) == [False, True]
        swept.patch.setattr(swept.house.app.open(), "environ", {**swept.house.app.open().environ, "CRM_URL": url})
        for _ in range(2):
            await swept.after(16 * MINUTE)
        assert [(row.asked, row.problem) for row in swept.rows()] == [(1, None), (1, None)]

    asyncio.run(story())
