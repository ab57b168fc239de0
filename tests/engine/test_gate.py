"""The gate: an operation without a review goes to a live receiver only where a drill or a waiver covers it."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.engine.definitions import Env, Workflow
from counterfoil.engine.finish import Park
from counterfoil.model.drill import Covered, PlayedCase, Rehearsal
from counterfoil.model.errors import Refused, Unresolved
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.writes import contract, create_case, writing

DAY_S = 24 * 3600.0
PASSED = PlayedCase("writing/operation.in_flight#1/kill-after", "kill-after", "pass")


class LiveHouse(House):
    """Its receiver is live."""

    def new_app(self) -> App:
        app = App("house", db=str(self.folder / "db" / "house.db"))
        app.clock = self.clock
        app.receiver("crm", url=Env("CRM_URL"), environment="live")
        return app


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> Iterator[LiveHouse]:
    made = LiveHouse(tmp_path, monkeypatch, crm.url)
    yield made
    made.app.close()


def rehearsal(**changes: Any) -> Rehearsal:
    covers = (Covered("create_case", contract("key").digest(), "writing", 1),)
    return replace(Rehearsal("house:writing", "sha256:aa", 7, covers, (PASSED,)), **changes)


async def submitted(house: House, workflow: Workflow[Any, Any], number: str = "1") -> str:
    return (await house.app.submit(workflow, Order(number=number), request_id=f"r-{number}")).run_id


async def waived(house: House, until: str = "1d", **changes: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"by": "oscar", "secret": SECRET, "reason": "the drill runs on Monday", "until": until}
    return await house.app.drills.waive("create_case", **(asked | changes))


def is_held(run: RunRecord) -> bool:
    return run.state is RunState.PARKED and run.reason == "writes_suspended" and "drill_missing" in run.sentence


def test_it_is_not_sent_and_says_why(live: LiveHouse, crm: SandboxProcess) -> None:
    workflow = writing(live.app, create_case(live.app))
    live.found()

    async def story() -> None:
        async with live.working():
            run_id = await submitted(live, workflow)
            run = await live.state(run_id, "parked")
            assert is_held(run)
            assert run.owner == "lead"
            assert crm.records() == []
            shown = live.app.runs.show(run_id)
            assert shown["next_action"]["code"] == "drill_missing"
            assert shown["next_action"]["command"].startswith("counterfoil waivers add create_case --by ")
            assert "counterfoil drill writing --register" in shown["next_action"]["sentence"]
            (operation,) = shown["records"]["operations"]
            assert (operation["status"], operation["case"]["letter"]) == ("prepared", "L")
            assert operation["next_action"]["code"] == "drill_missing"

            (registered,) = (await live.app.drills.register(rehearsal()))["items"]
            assert (registered["operation"], registered["passed"], registered["by"]) == ("create_case", 1, None)
            await live.state(run_id, "completed")  # by itself
            assert len(crm.records()) == 1

            second = await submitted(live, workflow, "2")
            await live.state(second, "completed")  # the drill speaks for every run
        live.clean()

    asyncio.run(story())


@pytest.mark.parametrize(
    "other",
    [
        Covered("create_case", "sha256:" + "0" * 64, "writing", 1),
        Covered("create_case", contract("key").digest(), "writing", 2),
        Covered("create_case", contract("key").digest(), "other", 1),
        Covered("other", contract("key").digest(), "writing", 1),
    ],
)
def test_a_drill_of_something_else_does_not_count(live: LiveHouse, crm: SandboxProcess, other: Covered) -> None:
    workflow = writing(live.app, create_case(live.app))
    live.found()

    async def story() -> None:
        await live.app.drills.register(rehearsal(covers=(other,)))
        async with live.working():
            run = await live.state(await submitted(live, workflow), "parked", "completed")
        assert is_held(run)
        assert crm.records() == []

    asyncio.run(story())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cases": (replace(PASSED, verdict="fail"),)}, "1 of its cases failed"),
        ({"left_out": ("writing/operation.replied#1/hang",)}, "it is not whole"),
        ({"cases": (PASSED, replace(PASSED, verdict="not_run"))}, "it is not whole"),
        ({"cases": (replace(PASSED, verdict="not_applicable"),)}, "no case of it passed"),
        ({"covers": ()}, "it performed no operation"),
    ],
)
def test_only_a_whole_drill_without_a_failure_is_registered(house: House, changes: dict[str, Any], says: str) -> None:
    house.found()
    with pytest.raises(Refused, match=says) as refused:
        asyncio.run(house.app.drills.register(rehearsal(**changes)))
    assert refused.value.code == "drill_not_passed"
    assert house.app.drills.list()["items"] == []


def test_a_fault_that_this_release_cannot_play_does_not_hinder(house: House) -> None:
    house.found()
    later = PlayedCase("writing/-/archived-then-again", "archived-then-again", "not_run", "issue 8")
    (drill,) = asyncio.run(house.app.drills.register(rehearsal(cases=(PASSED, later))))["items"]
    assert (drill["cases"], drill["passed"], drill["not_run"]) == (2, 1, 1)


def test_a_waiver_has_a_name_and_an_end(live: LiveHouse, crm: SandboxProcess) -> None:
    workflow = writing(live.app, create_case(live.app))
    live.found()

    async def story() -> None:
        async with live.working():
            first = await submitted(live, workflow)
            await live.until(first, is_held)
            waiver = await waived(live)
            assert (waiver["stands"], waiver["by"]) == (True, "oscar")
            await live.state(first, "completed")
            live.clock.advance(DAY_S)
            second = await submitted(live, workflow, "2")
            await live.until(second, is_held)  # it ended by itself
            assert live.app.drills.waivers()["items"][0]["stands"] is False
            await waived(live, until="30d")
            await live.state(second, "completed")
            await live.app.drills.revoke("create_case", by="ana", reason="too long")
            third = await submitted(live, workflow, "3")
            await live.until(third, is_held)
        assert len(crm.records()) == 2
        acts = [(act["person"], act["verb"], act["what"]) for act in live.app.audit.list()["items"]]
        assert acts[0] == ("ana", "waiver", "took back the waiver of create_case: too long")
        assert acts[1][2].startswith("let create_case be sent without a drill until ")
        assert [person for person, verb, _ in acts if verb == "waiver"] == ["ana", "oscar", "oscar"]
        live.clean()

    asyncio.run(story())


@pytest.mark.parametrize("until", ["91d", "2020-01-01", "2020-01-01T00:00:00Z"])
def test_an_end_that_is_none_is_refused(house: House, until: str) -> None:
    create_case(house.app)
    house.found()
    with pytest.raises(Refused) as refused:
        asyncio.run(waived(house, until=until))
    assert refused.value.code == "waiver_end"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"secret": "wrong"}, "wrong_secret"),
        ({"by": "nobody"}, "unknown_person"),
        ({"reason": " "}, "usage"),
        ({"until": "soon"}, "usage"),
    ],
)
def test_who_waives_is_known_and_says_why(house: House, changes: dict[str, Any], code: str) -> None:
    create_case(house.app)
    house.found()
    with pytest.raises(Refused) as refused:
        asyncio.run(waived(house, **changes))
    assert refused.value.code == code


def test_an_operation_that_nobody_knows_is_not_waived_and_nothing_is_revoked_twice(house: House) -> None:
    create_case(house.app)
    house.found()
    with pytest.raises(Refused) as refused:
        asyncio.run(house.app.drills.waive("creat_case", by="oscar", secret=SECRET, reason="a slip", until="1d"))
    assert refused.value.code == "not_found"
    with pytest.raises(Refused) as refused:
        asyncio.run(house.app.drills.revoke("create_case", by="oscar", reason="none"))
    assert refused.value.code == "no_waiver"


def test_a_waiver_takes_the_right_to_let_sending_go_on(house: House) -> None:
    create_case(house.app)
    house.found()
    asyncio.run(house.app.people.add("ben", roles=("auditor",), secret=SECRET))
    with pytest.raises(Refused) as refused:
        asyncio.run(waived(house, by="ben"))
    assert refused.value.code == "not_permitted"


def test_a_review_needs_no_drill(live: LiveHouse, crm: SandboxProcess) -> None:
    workflow = writing(live.app, create_case(live.app, review=True))
    live.found()

    async def story() -> None:
        async with live.working():
            run_id = await submitted(live, workflow)
            run = await live.state(run_id, "waiting")
            assert run.reason == "review"

    asyncio.run(story())


@pytest.mark.parametrize(("gate", "sent"), [("live", True), ("all", False)])
def test_a_test_receiver_is_open_unless_the_gate_is_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess, gate: str, sent: bool
) -> None:
    monkeypatch.setenv("COUNTERFOIL_DRILL_GATE", gate)
    house = House(tmp_path, monkeypatch, crm.url)
    workflow = writing(house.app, create_case(house.app))
    house.found()

    async def story() -> None:
        async with house.working():
            run = await house.state(await submitted(house, workflow), "completed", "parked")
        assert (run.state is RunState.COMPLETED) is sent
        assert is_held(run) is not sent
        assert len(crm.records()) == int(sent)

    asyncio.run(story())
    house.app.close()


def test_the_gate_is_never_off(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERFOIL_DRILL_GATE", "off")
    with pytest.raises(Refused, match="never off"):
        house.found()


def test_what_may_have_been_sent_is_still_asked_about_after_the_waiver_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SandboxProcess("lookup") as crm:
        house = LiveHouse(tmp_path, monkeypatch, crm.url)
        workflow = writing(house.app, create_case(house.app, "lookup"))
        house.found()
        crm.fault("drop-reply")

        async def story() -> None:
            await waived(house, until="1d")
            async with house.working():
                run_id = await submitted(house, workflow)
                await house.until(run_id, lambda _: bool(crm.records()))
            house.clock.advance(2 * DAY_S)  # the waiver is over, the doubt is not
            async with house.working():
                await house.state(run_id, "completed")
            (operation,) = house.operations(run_id)
            assert (operation.status.value, operation.attempts) == ("succeeded", 1)
            assert len(crm.records()) == 1

        asyncio.run(story())
        house.app.close()


def test_a_repeat_under_the_key_waits_for_a_waiver_too(live: LiveHouse, crm: SandboxProcess) -> None:
    """A key cannot be asked about, so only a repeat can tell; it is a send, and nobody covers sends any more."""
    workflow = writing(live.app, create_case(live.app))
    live.found()
    crm.fault("drop-reply")

    async def story() -> None:
        await waived(live, until="1m")
        async with live.working():
            run_id = await submitted(live, workflow)
            await live.until(run_id, lambda _: live.count(run_id, "classified") == 1)
            live.clock.advance(120)
            run = await live.until(run_id, is_held)
            (operation,) = live.operations(run_id)
            assert (operation.case_letter, operation.attempts, len(crm.records())) == ("W", 1, 1)
            assert run.owner == "lead"
            await waived(live, until="1d")
            await live.state(run_id, "completed")
        (operation,) = live.operations(run_id)
        assert (operation.attempts, len(crm.records())) == (2, 1)

    asyncio.run(story())


def test_the_ledger_alone_is_held_under_its_own_workflow(live: LiveHouse, crm: SandboxProcess) -> None:
    operation = create_case(live.app)
    live.found()

    async def story() -> None:
        with pytest.raises(Unresolved) as unresolved:
            await live.app.ledger.perform(operation, Order(number="1"), identity="1")
        assert "counterfoil waivers add create_case" in unresolved.value.command
        assert crm.records() == []
        await live.app.drills.register(
            rehearsal(covers=(Covered("create_case", contract("key").digest(), "ledger", 1),))
        )
        await live.app.ledger.perform(operation, Order(number="1"), identity="1")
        assert len(crm.records()) == 1

    asyncio.run(story())


def test_the_park_itself_looks_again(live: LiveHouse) -> None:
    """Nobody wakes a run that is not parked yet: a waiver between the ruling and the park must not be overlooked."""
    workflow = writing(live.app, create_case(live.app))
    live.found()
    run_id = asyncio.run(submitted(live, workflow))
    owner = {"name": "lead", "within_us": 3_600_000_000, "then": None}
    (send,) = rehearsal().covers
    park = Park(run_id, None, None, ParkReason.WRITES_SUSPENDED, "", owner, None, None, None, send)
    asyncio.run(waived(live, until="1d"))
    assert live.ask(park) is False
    live.clock.advance(DAY_S)
    assert live.ask(park) is True


def test_doctor_lists_what_is_sent_without_a_review(live: LiveHouse) -> None:
    writing(live.app, create_case(live.app))
    live.found()

    def found(code: str) -> str:
        return next(check["status"] for check in report["checks"] if check["code"] == code)

    report = live.app.doctor()
    (unattended,) = report["unattended"]
    assert (unattended["operation"], unattended["gate"], unattended["drill_at"]) == ("create_case", True, None)
    assert (found("drill_missing"), found("undrilled_version")) == ("warn", "ok")

    older = Covered("create_case", contract("key").digest(), "writing", 0)
    asyncio.run(live.app.drills.register(rehearsal(covers=(older,))))
    report = live.app.doctor()
    (unattended,) = report["unattended"]
    assert (unattended["undrilled_version"], unattended["drill_digest"], unattended["drilled"]) == (
        True,
        "sha256:aa",
        [],
    )
    assert (found("drill_missing"), found("undrilled_version")) == ("ok", "warn")

    live.clock.advance(60)
    asyncio.run(live.app.drills.register(rehearsal()))
    live.clock.advance(DAY_S)
    report = live.app.doctor()
    (unattended,) = report["unattended"]
    assert (unattended["undrilled_version"], unattended["drill_age_seconds"]) == (False, int(DAY_S))
    assert unattended["drilled"][0]["workflow_version"] == 1
    assert (found("drill_missing"), found("undrilled_version")) == ("ok", "ok")
