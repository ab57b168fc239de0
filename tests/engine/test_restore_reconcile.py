"""`restore reconcile`: every receiver is asked about everything that was prepared and not closed, and nothing is sent."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.engine.definitions import Workflow
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import Kind, create_case, writing


class Restored:
    """Orders that wait for their review are backed up; then some are approved and sent, and the backup is put back."""

    def __init__(self, house: House, crm: SandboxProcess, kind: Kind) -> None:
        self.house, self.crm = house, crm
        self.kind: Kind = kind
        self.runs: dict[str, str] = {}
        self.workflow = self._workflow()

    def _workflow(self) -> Workflow[Any, Any]:
        return writing(self.house.app, create_case(self.house.app, self.kind, review=True))

    async def sent(self, *orders: str, approved: tuple[str, ...]) -> None:
        self.house.found()
        async with self.house.working():
            for number in orders:
                order = Order(number=number)
                self.runs[number] = (await self.house.app.submit(self.workflow, order, request_id=number)).run_id
                await self.house.state(self.runs[number], "waiting")
        self.house.app.close()
        shutil.copytree(self.house.folder / "db", self.house.folder / "kept")
        async with self.house.working():
            for number in approved:
                await self.approve(number)
                await self.house.state(self.runs[number], "completed")
        self.house.app.close()
        shutil.rmtree(self.house.folder / "db")
        os.rename(self.house.folder / "kept", self.house.folder / "db")
        assert self.house.app.restore.status()["suspended"]

    async def approve(self, number: str) -> None:
        review = self.house.app.runs.show(self.runs[number])["records"]["approvals"][-1]
        await self.house.app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET)

    async def reconciled(self, **options: Any) -> dict[str, Any]:
        return (await self.house.app.restore.reconcile(**options))["reconciled"]

    def operation(self, number: str) -> OperationRecord:
        (operation,) = self.house.operations(self.runs[number])
        return operation

    def finish(self, **said: Any) -> Any:
        return self.house.app.restore.finish(as_="restored", by="oscar", secret=SECRET, reason="Nobody sends.", **said)


@pytest.fixture(params=["lookup"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def restored(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Restored]:
    with SandboxProcess(kind) as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        yield Restored(house, crm, kind)
        house.app.close()


def test_what_is_proven_is_closed_and_what_is_not_is_a_persons(restored: Restored) -> None:
    async def story() -> None:
        house = restored.house
        await restored.sent("1", "2", "3", approved=("1", "2"))
        status = house.app.restore.status()
        assert (status["in_doubt"], status["unasked"], status["asked"], status["not_askable"]) == (3, 3, 0, 0)
        told: list[tuple[str, int, int]] = []
        came = await restored.reconciled(told=lambda *each: told.append(each))
        assert (came["asked"], came["closed"], came["in_doubt"]) == (3, {"succeeded": 2, "failed": 0}, 1)
        assert told == [("crm", 1, 3), ("crm", 2, 3), ("crm", 3, 3)]
        for number in ("1", "2"):
            operation = restored.operation(number)
            assert operation.status.value == "succeeded" and operation.receipt_id is not None
        left = house.app.restore.status()
        assert (left["in_doubt"], left["unasked"], left["asked"]) == (1, 0, 1)
        (doubt,) = left["doubts"]
        assert (doubt["run_id"], doubt["showed"], doubt["owner"]) == (restored.runs["3"], "absent", "lead")
        assert doubt["next_action"]["command"].startswith("counterfoil operations resolve")
        run = house.run(restored.runs["3"])
        assert (run.state.value, run.reason, run.owner) == ("parked", "outcome_unknown", "lead") and run.deadline_at
        assert "op-3" in run.sentence
        assert len(restored.crm.requests()) == len(restored.crm.records()) == 2, "nothing was sent but lookups"
        again = await restored.reconciled()
        assert (again["asked"], again["asked_before"], again["in_doubt"]) == (0, 1, 0), (
            "the record says how far it came"
        )
        with pytest.raises(Refused) as refused:
            await restored.finish()
        assert refused.value.code == "doubts_left" and "op-3" in refused.value.message
        await restored.finish(accept={"op-3": "Nobody had approved it."})
        async with house.working():
            for number in ("1", "2"):
                await house.state(restored.runs[number], "completed")
            house.clock.advance(1)
            await house.until(restored.runs["3"], lambda run: run.state.value == "waiting" and run.reason == "review")
        assert len(restored.crm.records()) == 2
        house.clean()

    asyncio.run(story())


def test_approvals_that_the_restored_head_had_not_used_are_void(restored: Restored) -> None:
    """Also where nothing was sent: what was withdrawn since is lost as well."""

    async def story() -> None:
        house = restored.house
        await restored.sent("1", approved=())
        assert (await restored.reconciled())["in_doubt"] == 1
        approval = house.app.runs.show(restored.runs["1"])["records"]["approvals"][-1]
        with pytest.raises(Refused):
            await house.app.reviews.approve(approval["review_id"], digest=approval["digest"], by="ana", secret=SECRET)
        assert restored.crm.records() == []

    asyncio.run(story())


def test_a_receiver_that_gives_no_answer_is_asked_again_by_the_next_call(
    restored: Restored, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        await restored.sent("1", "2", "3", "4", "5", approved=("1",))
        monkeypatch.setenv("CRM_URL", "http://127.0.0.1:9")
        came = await restored.reconciled()
        assert (came["asked"], came["unreachable"], came["left"]) == (3, ["crm"], 2)
        assert restored.house.app.restore.status()["unasked"] == 5
        monkeypatch.setenv("CRM_URL", restored.crm.url)
        again = await restored.reconciled()
        assert (again["asked"], again["closed"]["succeeded"], again["asked_before"]) == (5, 1, 0)

    asyncio.run(story())


@pytest.mark.parametrize(("kind", "reason"), [("key", "restored"), ("none", "outcome_unknown")], indirect=["kind"])
def test_what_has_no_lookup_is_counted_and_parked(restored: Restored, reason: str) -> None:
    """A repeat under its key can tell once sending is possible again; without a key only a person can."""

    async def story() -> None:
        await restored.sent("1", approved=("1",))
        came = await restored.reconciled()
        assert (came["asked"], came["not_askable"]) == (0, {"no_lookup": 1})
        run = restored.house.run(restored.runs["1"])
        assert (run.state.value, run.reason) == ("parked", reason) and run.owner and run.deadline_at
        assert len(restored.crm.requests()) == 1

    asyncio.run(story())


def test_code_that_does_not_know_an_operation_leaves_it_to_a_person(restored: Restored) -> None:
    async def story() -> None:
        await restored.sent("1", approved=("1",))
        restored.house.app.close()
        other = restored.house.new_app()
        came = (await other.restore.reconcile())["reconciled"]
        assert came["not_askable"] == {"no_code": 1}
        other.close()
        assert restored.operation("1").status.value != "succeeded"

    asyncio.run(story())


def test_no_more_questions_in_a_minute_than_are_allowed(restored: Restored) -> None:
    async def story() -> None:
        house = restored.house
        await restored.sent("1", "2", "3", approved=())
        asked: list[str] = []
        waits: list[int | None] = []

        async def waited(changed: asyncio.Event, until_us: int | None) -> bool:
            waits.append(until_us)
            assert until_us is not None
            house.clock.advance((until_us - house.clock.now_us()) / 1_000_000)
            return False

        began = house.clock.now_us()
        object.__setattr__(house.clock, "wait", waited)
        await restored.reconciled(per_minute=1, told=lambda name, done, of: asked.append(name))
        assert asked == ["crm"] * 3 and waits == [began + 60_000_000, began + 120_000_000]

    asyncio.run(story())


def test_without_an_open_restore_nothing_is_asked(house: House) -> None:
    house.found()
    with pytest.raises(Refused) as refused:
        asyncio.run(house.app.restore.reconcile())
    assert refused.value.code == "no_restore"
