"""Duties: one process at a time carries each out, what goes wrong is kept and tried again, and nothing of it is evidence."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.app.duties.duty import DAY_US, HOUR_US, MINUTE_US, SECOND_US, Duty
from counterfoil.app.duties.known import DUTIES, Duties
from counterfoil.app.duties.rounds import Rounds
from counterfoil.engine import reconcile
from counterfoil.engine.duties import KeepNotices, TakeDuty
from counterfoil.engine.locks import ProcessLock, lock_is_free
from counterfoil.engine.port import Ask, Call, Run
from counterfoil.model.access import SessionRecord
from counterfoil.model.contract import Contract, Lookup, Reference, Seen
from counterfoil.model.duty import DutyRecord, NoticeRecord
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.testing.conformance.bench import Act
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import CLASSIFIER, create_case, find_case, writing

_NONE = timedelta(0)


def _moved_after(sequence: int) -> Callable[[RunRecord], bool]:
    return lambda run: run.sequence > sequence and run.state.value in ("waiting", "parked")


def named(name: str) -> tuple[Duty, ...]:
    return tuple(duty for duty in DUTIES if duty.name == name)


def shown(house: House, name: str) -> dict[str, Any]:
    return next(item for item in Duties(house.app.open).list()["items"] if item["name"] == name)


def test_a_duty_has_one_holder_until_its_lease_ends(house: House) -> None:
    async def story() -> None:
        house.found()
        opened = house.app.open()

        async def taken(holder: str) -> DutyRecord | None:
            return await opened.write(TakeDuty("expiry", holder, opened.clock.now_us(), MINUTE_US, MINUTE_US))

        first = await taken("dty_a")
        assert first is not None and first.holder == "dty_a"
        assert await taken("dty_b") is None
        house.clock.advance(61)
        second = await taken("dty_b")
        assert second is not None and second.holder == "dty_b"

    asyncio.run(story())


def test_a_problem_is_kept_and_tried_again_soon(house: House) -> None:
    tried: list[int] = []

    async def fails(app: Any, duty: DutyRecord) -> int | None:
        tried.append(duty.mark)
        if len(tried) == 1:
            raise OSError("no such folder")
        return 7

    duty = Duty("witness", "for a test", HOUR_US, MINUTE_US, fails)

    async def story() -> None:
        house.found()
        rounds = Rounds(house.app, (duty,))
        assert await rounds.once() == ["witness"]
        assert shown(house, "witness")["problem"] == "OSError: no such folder"
        assert shown(house, "witness")["succeeded_at"] is None
        assert await rounds.once() == []
        house.clock.advance(61)
        assert await rounds.once() == ["witness"] and tried == [0, 0]
        assert shown(house, "witness")["problem"] is None and shown(house, "witness")["succeeded_at"] is not None
        with house.app.open().read() as reader:
            kept = reader.get(DutyRecord, "witness")
        assert kept is not None and kept.mark == 7

    asyncio.run(story())


def test_duties_go_on_after_a_clock_that_jumped_ahead_and_back(house: House) -> None:
    """What was stored under a clock that ran ahead says when a duty is due: it must not rest until then."""
    done: list[int] = []

    async def notes(app: Any, duty: DutyRecord) -> None:
        done.append(house.clock.now_us())

    async def story() -> None:
        house.found()
        house.app.close()
        house.clock.jump(DAY_US // SECOND_US)  # before it is opened: a wall that is set meanwhile is not followed
        rounds = Rounds(house.app, (Duty("witness", "for a test", HOUR_US, MINUTE_US, notes),))
        opened = house.app.open()
        await rounds.once()
        await opened.write(TakeDuty("witness", "dty_dead", opened.clock.now_us() + HOUR_US, HOUR_US, MINUTE_US))
        house.app.close()
        house.clock.jump(-DAY_US // SECOND_US)
        assert await rounds.once() == ["witness"]
        assert await rounds.once() == []
        assert len(done) == 2 and not shown(house, "witness")["late"]

    asyncio.run(story())


def test_a_duty_does_not_wait_for_the_lease_of_a_holder_that_is_dead(house: House) -> None:
    """A lock that is there and free proves it; a missing one, as of another host, proves nothing."""

    async def nothing(app: Any, duty: DutyRecord) -> None:
        del app, duty

    async def story() -> None:
        house.found()
        opened = house.app.open()
        rounds = Rounds(house.app, (Duty("witness", "for a test", HOUR_US, HOUR_US, nothing),))
        await opened.write(TakeDuty("witness", "dty_dead", opened.clock.now_us(), HOUR_US, HOUR_US))
        assert await rounds.once() == []
        lock = ProcessLock(opened.locks, "dty_dead")
        assert await rounds.once() == []
        lock.release()  # as the system does, however the process dies
        assert await rounds.once() == ["witness"]

    asyncio.run(story())


def test_a_duty_that_hangs_holds_up_no_other(house: House) -> None:
    async def story() -> None:
        house.found()
        opened = house.app.open()
        hangs, goes_on, stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def hang(app: Any, duty: DutyRecord) -> None:
            hangs.set()
            await asyncio.Event().wait()

        async def go_on(app: Any, duty: DutyRecord) -> None:
            goes_on.set()

        duties = (
            Duty("reconcile", "for a test", MINUTE_US, MINUTE_US, hang),
            Duty("witness", "for a test", MINUTE_US, MINUTE_US, go_on),
        )
        rounds = Rounds(house.app, duties)
        running = asyncio.create_task(rounds.run(stop))
        async with asyncio.timeout(20):
            await hangs.wait()
            await goes_on.wait()
        assert not lock_is_free(opened.locks, rounds.holder), "others see that it lives"
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(story())


def test_a_duty_that_nobody_carries_out_shows_as_late(house: House) -> None:
    house.found()
    assert not any(item["late"] for item in Duties(house.app.open).list()["items"])
    house.clock.advance(3 * 15 + 61)
    late = {item["name"] for item in Duties(house.app.open).list()["items"] if item["late"]}
    assert "expiry" in late and "retention" not in late


def test_expiry_moves_a_run_that_no_worker_takes(house: House) -> None:
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
        rounds = Rounds(house.app, named("expiry"))
        await rounds.once()
        assert house.run(submitted.run_id).state.value == "pending"
        house.clock.advance(15 * 60 + 1)
        await rounds.once()
        run = house.run(submitted.run_id)
        assert (run.state.value, run.reason, run.owner) == ("parked", "no_worker", "lead")
        house.clean()

    asyncio.run(story())


def test_expiry_gives_what_is_parked_to_the_next_owner(house_with_crm: House, crm: SandboxProcess) -> None:
    house = house_with_crm
    workflow = writing(house.app, create_case(house.app, review=True))

    async def story() -> None:
        house.found()
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "waiting")
        # No worker lives any more. The review runs out after 8 hours; its workflow would hear that first.
        house.clock.advance(8 * 3600 + 1)
        rounds = Rounds(house.app, named("expiry"))
        await rounds.once()
        assert house.run(submitted.run_id).state.value == "waiting"
        house.clock.advance(15 * 60)
        await rounds.once()
        run = house.run(submitted.run_id)
        assert (run.state.value, run.reason) == ("parked", "expired")
        before = len(house.entries(submitted.run_id))
        house.clock.advance(3 * DAY_US // SECOND_US)
        await rounds.once()
        assert house.entries(submitted.run_id)[before:][0][2]["overdue"] is True
        assert crm.records() == []
        house.clean()

    asyncio.run(story())


def test_reconcile_asks_again_and_closes_a_doubt(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    down = [True]

    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        if down[0]:
            return Seen([], complete=False)  # a page of many: it is not there, and that proves nothing
        return await find_case(ask, order)

    with SandboxProcess("lookup") as crm:
        house = House(tmp_path, monkeypatch, crm.url)
        contract = Contract(
            api_version="1", duplicate="costly", classifier=CLASSIFIER, reference=Reference(header="Counterfoil-Operation"),
            lookup=Lookup(
                find, consistency="strong", visible_within=_NONE, arrives_within=_NONE, finds_by="operation_id"
            ),
        )  # fmt: skip

        async def create_case(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            return Receipt(reference=reply.json()["id"])

        decorate = house.app.operation(receiver="crm", contract=contract, business_key="number", owner="lead")
        operation = decorate(create_case)
        workflow = writing(house.app, operation)

        async def story() -> None:
            house.found()
            crm.fault("drop-reply")
            async with house.working():
                submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
                run = await house.state(submitted.run_id, "waiting", "parked")
                while run.state.value != "parked":
                    house.clock.advance(3600)
                    run = await house.until(submitted.run_id, _moved_after(run.sequence))
                assert run.reason == "outcome_unknown"
            asked = house.count(submitted.run_id, "looked_up")
            rounds = Rounds(house.app, named("reconcile"))
            house.clock.advance(7 * 3600)
            await rounds.once()
            assert house.count(submitted.run_id, "looked_up") == asked + 1
            house.clock.advance(61)
            await rounds.once()  # due again, and the pause between two questions is not over
            assert house.count(submitted.run_id, "looked_up") == asked + 1
            down[0] = False
            house.clock.advance(7 * 3600)
            await rounds.once()
            (stored,) = house.operations(submitted.run_id)
            assert stored.status.value == "succeeded" and len(crm.records()) == 1
            async with house.working():
                await house.state(submitted.run_id, "completed")
            house.clean()

        asyncio.run(story())
        house.app.close()


def test_a_lookup_that_hangs_is_an_answer_that_did_not_come(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """In a thread of the user's, for ever: it is recorded, other receivers are asked, and steps keep their threads."""
    never = threading.Event()
    monkeypatch.setattr(reconcile, "LONGEST_LOOKUP_S", 0.3)

    with SandboxProcess("none") as crm, SandboxProcess("none") as shop:
        house = House(tmp_path, monkeypatch, crm.url)
        house.app.receiver("shop", url=shop.url, environment="test")

        def hangs(ask: Ask, order: Order) -> Seen[Receipt]:
            never.wait()
            return Seen([], complete=False)

        def answers(ask: Ask, order: Order) -> Seen[Receipt]:
            return Seen([], complete=False)

        def operation(name: str, receiver: str, function: Any) -> Any:
            async def write(call: Call, order: Order) -> Receipt:
                reply = await call.http.post("/cases", json=order.model_dump())
                return Receipt(reference=reply.json()["id"])

            write.__name__ = write.__qualname__ = name
            lookup = Lookup(function, consistency="strong", visible_within=_NONE, arrives_within=_NONE)
            contract = Contract(api_version="1", duplicate="costly", classifier=CLASSIFIER, lookup=lookup)
            return house.app.operation(receiver=receiver, contract=contract, business_key="number", owner="lead")(write)

        first, second = operation("hangs", "crm", hangs), operation("answers", "shop", answers)

        @house.app.workflow(version=1, budget=BUDGET)
        async def both(run: Run, order: Order) -> str:
            await (run.perform(first, order) if order.number == "1" else run.perform(second, order))
            return "done"

        async def story() -> None:
            house.found()
            run_ids: list[str] = []
            async with house.working():
                for number, receiver in (("1", crm), ("2", shop)):
                    receiver.fault("drop-reply")
                    submitted = await house.app.submit(both, Order(number=number), request_id=number)
                    run = await house.state(submitted.run_id, "waiting", "parked")
                    while run.state.value != "parked":
                        house.clock.advance(3600)
                        run = await house.until(submitted.run_id, _moved_after(run.sequence))
                    run_ids.append(submitted.run_id)
            asked = [house.count(run_id, "looked_up") for run_id in run_ids]
            house.clock.advance(7 * 3600)
            async with asyncio.timeout(20):
                await Rounds(house.app, named("reconcile")).once()
            assert [house.count(run_id, "looked_up") for run_id in run_ids] == [count + 1 for count in asked]
            assert house.entries(run_ids[0])[-1][2]["problem"] == "no answer within 0.3 seconds"
            assert shown(house, "reconcile")["problem"] is None
            house.clean()

        try:
            asyncio.run(story())
        finally:
            never.set()
            house.app.close()


def test_witness_writes_heads_outside_once(house: House) -> None:
    workflow = writing(house.app, create_case(house.app))

    async def story() -> None:
        house.found()
        submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
        rounds = Rounds(house.app, named("witness"))
        await rounds.once()
        opened = house.app.open()
        assert opened.marker is not None
        heads = {head.run_id: head.sequence for head in opened.marker.heads()}
        assert heads == {submitted.run_id: 0, opened.installation_id: 0}
        (file,) = (house.folder / "state").glob("*.heads")
        lines = len(file.read_text().splitlines())
        house.clock.advance(301)
        await rounds.once()
        assert len(file.read_text().splitlines()) == lines, "nothing grew"
        assert house.app.verify()["heads_outside"] == "matched"

    asyncio.run(story())


def test_retention_deletes_what_is_of_no_use_and_nothing_else(house: House) -> None:
    async def story() -> None:
        house.found()
        opened = house.app.open()
        now = opened.clock.now_us()
        over = [SessionRecord(f"s{n}", "ana", "secret", now, now, now + n * DAY_US, None) for n in (1, 20)]
        sent = NoticeRecord("n1", "rev_1", 1, "run", "entered", "ana", "apprise", "{}", now, None, 1, now, None)
        waits = NoticeRecord("n2", "rev_1", 1, "run", "near", "ana", "apprise", "{}", now, now, 1, None, "refused")
        put = Act(
            [Read.key(SessionRecord, row.session_id) for row in over],
            lambda tx: [tx.put(row) for row in over],
            "worker.seen",
        )
        opened.database.apply([put])
        await opened.write(KeepNotices("notices", (sent, waits)))
        house.clock.advance(35 * DAY_US // SECOND_US)
        await Rounds(house.app, named("retention")).once()
        with opened.read() as reader:
            assert [row.session_id for row in reader.rows(SessionRecord)] == ["s20"]
            assert [row.notice_id for row in reader.rows(NoticeRecord)] == ["n2"]
        house.clean()

    asyncio.run(story())


def test_a_notice_is_made_once_and_a_try_is_kept(house: House) -> None:
    async def story() -> None:
        house.found()
        opened = house.app.open()
        made = NoticeRecord("n1", "rev_1", 1, "run", "entered", "ana", "apprise", "{}", 1, 1, 0, None, None)
        assert await opened.write(KeepNotices("notices", (made,))) == 1
        assert await opened.write(KeepNotices("notices", (made,))) == 0
        sent = replace(made, tries=1, sent_at=5, next_try_at=None)
        await opened.write(KeepNotices("notices", (sent,)))
        await opened.write(KeepNotices("notices", (replace(made, tries=9, problem="late"),)))
        with opened.read() as reader:
            assert reader.get(NoticeRecord, "n1") == sent

    asyncio.run(story())
