"""A paused receiver: by its breaker, or by a person. What is meant for it waits, says why, and is sent once."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.engine.definitions import Env, Workflow
from counterfoil.engine.port import Call, Run
from counterfoil.model.breaker import Breaker
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt
from counterfoil.model.run import RunRecord
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.writes import Kind, contract


class Bank:
    """Answers with `status`, and with none takes the write and goes away. What it takes is a record under its key.

    Whoever is to be answered waits until it is `open`.
    """

    def __init__(self) -> None:
        self.status = ""
        self.seen: list[str] = []
        self.records: dict[str, str] = {}
        self.open = asyncio.Event()
        self.open.set()
        self._arrived = asyncio.Condition()

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(20), self._arrived:
            await self._arrived.wait_for(lambda: len(self.seen) >= count)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        number = json.loads(await reader.readexactly(int(lines["content-length"])))["number"]
        async with self._arrived:
            self.seen.append(number)
            self._arrived.notify_all()
        await self.open.wait()
        if not self.status.startswith("5"):
            self.records.setdefault(lines.get("idempotency-key", f"write {len(self.seen)}"), number)
        if not self.status:
            writer.close()
            return
        body = json.dumps({"id": f"ref-{number}"}).encode()
        writer.write(
            f"HTTP/1.1 {self.status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        )
        await writer.drain()
        writer.close()


def paying(app: App, kind: Kind, breaker: Breaker | None) -> Workflow[Any, Any]:
    app.receiver("bank", url=Env("CRM_URL"), environment="test", breaker=breaker)

    @app.operation(receiver="bank", contract=contract(kind), business_key="number", owner="lead")
    async def pay(call: Call, order: Order) -> Receipt:
        reply = await call.http.post("/pay", json=order.model_dump())
        return Receipt(reference=reply.json()["id"])

    @app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> Receipt:
        return await run.perform(pay, order)

    return paying


class Scene:
    """A house beside a bank, and what of the bank's pauses is shown."""

    def __init__(self, house: House, bank: Bank, workflow: Workflow[Any, Any]) -> None:
        self.house, self.bank, self.workflow = house, bank, workflow

    async def pay(self, number: str) -> str:
        return (await self.house.app.submit(self.workflow, Order(number=number), request_id=number)).run_id

    async def held(self, run_id: str) -> RunRecord:
        return await self.house.until(run_id, lambda run: run.held_for == "receiver:bank")

    def acts(self) -> list[tuple[str | None, str]]:
        items = self.house.app.audit.list(limit=100)["items"]
        return [(act["person"], act["what"]) for act in reversed(items) if act["verb"] == "writes"]

    def paused(self, by: str) -> int:
        metric = next(m for m in self.house.app.metrics.list()["items"] if m["name"] == "counterfoil_receivers_paused")
        labels = {"receiver": "bank", "by": by}
        return next(each["value"] for each in metric["values"] if each["labels"] == labels)


async def scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, breaker: Breaker | None
) -> tuple[Scene, asyncio.Server]:
    bank = Bank()
    server = await asyncio.start_server(bank.answer, "127.0.0.1", 0)
    house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    workflow = paying(house.app, kind, breaker)
    house.found()
    return Scene(house, bank, workflow), server


TWO = Breaker(2, pause=timedelta(minutes=1))


def test_a_breaker_holds_every_worker_and_then_one_attempt_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        at, server = await scene(tmp_path, monkeypatch, "key", TWO)
        house, bank = at.house, at.bank
        other = house.new_app()
        paying(other, "key", TWO)
        async with house.working():
            runs = [await at.pay("1")]
            await house.until(runs[0], lambda run: run.state.value == "waiting")
            house.clock.advance(2)  # the pause before a second try
            run = await at.held(runs[0])
            assert run.sentence.startswith("Receiver bank is paused by its breaker until ")
            assert run.sentence.endswith(": 2 attempts in a row failed, the last one gave no answer.")
        first, house.app = house.app, other  # another process goes on, and knows of it by the database alone
        async with house.working():
            runs += [await at.pay("2"), await at.pay("3")]
            for run_id in runs[1:]:
                await at.held(run_id)
                assert house.operations(run_id)[0].attempts == 0
            noun = house.app.receivers
            shown = noun.show("bank")
            assert (shown["paused"]["by"], shown["paused"]["sentence"], shown["waiting"]) == (None, run.sentence, 3)
            assert (at.paused("breaker"), at.paused("person")) == (1, 0)
            assert bank.seen == ["1", "1"]

            bank.status = "201 Created"
            bank.open.clear()
            house.clock.advance(61)
            await bank.until_seen(3)
            assert "is paused by its breaker while one attempt tries" in noun.show("bank")["paused"]["sentence"]
            others = [run_id for run_id in runs if house.run(run_id).request_id != bank.seen[2]]
            for run_id in others:
                await house.until(run_id, lambda run: "while one attempt tries" in run.sentence)
            assert len(bank.seen) == 3, "only one tries"
            bank.open.set()
            for run_id in runs:
                await house.state(run_id, "completed")
        assert sorted(bank.records.values()) == ["1", "2", "3"]
        assert at.acts()[-2:] == [
            (None, "its breaker: paused receiver bank: 2 attempts in a row failed, the last one gave no answer"),
            (None, "its breaker: resumed receiver bank: an attempt was answered"),
        ]
        assert house.app.receivers.show("bank")["paused"] is None
        house.clean()
        server.close()
        first.close()
        other.close()

    asyncio.run(story())


def test_the_attempt_that_tries_is_never_a_second_send_of_something_doubtful(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        at, server = await scene(tmp_path, monkeypatch, "none", Breaker(1, pause=timedelta(minutes=1)))
        house, bank = at.house, at.bank
        bank.status = "503 Service Unavailable"
        async with house.working():
            doubtful = await at.pay("1")
            waits = await house.state(doubtful, "waiting")
            assert waits.reason == "timer", "it waits for its own turn; a pause does not keep a doubt from its person"
            house.clock.advance(2)
            await house.state(doubtful, "parked")
            fresh = await at.pay("2")
            await at.held(fresh)
            bank.status = "201 Created"
            house.clock.advance(61)
            await house.state(fresh, "completed")
        assert bank.seen == ["1", "2"]
        operation = house.operations(doubtful)[0]
        assert (operation.status, operation.attempts, operation.reason) == ("unknown", 1, "outcome_unknown")
        house.clean()
        server.close()
        house.app.close()

    asyncio.run(story())


def test_a_person_pauses_a_receiver_and_another_resumes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        at, server = await scene(tmp_path, monkeypatch, "key", None)
        house, bank = at.house, at.bank
        bank.status = "201 Created"
        noun = house.app.receivers
        with pytest.raises(Refused) as unknown:
            await noun.pause("no-such", by="ana", reason="closed")
        with pytest.raises(Refused) as early:
            await noun.resume("bank", by="oscar", secret=SECRET, reason="open")
        assert (unknown.value.code, early.value.code) == ("not_found", "not_paused")
        paused = await noun.pause("bank", by="ana", reason="they move house")
        async with house.working():
            runs = [await at.pay("1"), await at.pay("2")]
            for run_id in runs:
                run = await at.held(run_id)
                assert run.sentence == paused["paused"]["sentence"] and run.sentence.endswith(": they move house")
                shown = house.app.runs.show(run_id)
                action = shown["next_action"]
                assert (action["code"], action["who"]["name"]) == ("resume_receiver", "ana")
                assert "receivers resume bank" in action["command"]
                operation = house.app.operations.list()["items"][0]
                assert operation["next_action"]["code"] == "resume_receiver"
            house.clock.advance(3600 * 30)
            assert (bank.seen, at.paused("person"), noun.show("bank")["waiting"]) == ([], 1, 2)
            with pytest.raises(Refused) as wrong:
                await noun.resume("bank", by="oscar", secret="guess", reason="open")
            assert wrong.value.code == "wrong_secret"
            resumed = await noun.resume("bank", by="oscar", secret=SECRET, reason="they moved")
            assert resumed["paused"] is None
            for run_id in runs:
                await house.state(run_id, "completed")
        assert sorted(bank.records.values()) == ["1", "2"]
        assert at.acts() == [
            ("ana", "paused receiver bank: they move house"),
            ("oscar", "resumed receiver bank: they moved"),
        ]
        house.clean()
        server.close()
        house.app.close()

    asyncio.run(story())


def test_a_person_ends_the_pause_of_a_breaker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        at, server = await scene(tmp_path, monkeypatch, "key", Breaker(1, pause=timedelta(minutes=9)))
        house, bank = at.house, at.bank
        async with house.working():
            run_id = await at.pay("1")
            await at.held(run_id)
            bank.status = "201 Created"
            house.clock.advance(2)
            await house.app.receivers.resume("bank", by="oscar", secret=SECRET, reason="it is back")
            await house.state(run_id, "completed")
        assert (bank.seen, list(bank.records.values())) == (["1", "1"], ["1"])
        house.clean()
        server.close()
        house.app.close()

    asyncio.run(story())


@pytest.mark.parametrize("breaker", [Breaker(0), Breaker(pause=timedelta(0)), Breaker(pause=timedelta(hours=1))])
def test_a_breaker_that_cannot_be_kept_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaker: Breaker
) -> None:
    house = House(tmp_path, monkeypatch)
    with pytest.raises(Refused) as refused:
        house.app.receiver("bank", url="http://127.0.0.1:9", environment="test", breaker=breaker)
    assert refused.value.code == "limit_unfit"
