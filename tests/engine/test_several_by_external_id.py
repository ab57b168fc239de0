"""Salesforce answers 300 where several records have one external id: our key, which was to be unique. That is a second record."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from counterfoil.connectors import salesforce
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.receipt import Receipt
from tests.engine.house import BUDGET, House


class Org:
    """Answers a write with `status`, or not at all (0), and each read with the records of `held`."""

    def __init__(self, status: int, *held: str) -> None:
        self.status, self.held, self.writes = status, held, 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, said = 300, json.dumps([f"/services/data/v68.0/sobjects/Case/{each}" for each in self.held])
        if head.startswith("PATCH"):
            self.writes += 1
            size = next(
                int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
            )
            await reader.readexactly(size)
            status = self.status
        if status:
            writer.write(
                f"HTTP/1.1 {status} X\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n{said}".encode()
            )
            await writer.drain()
        writer.close()


def creating(house: House) -> Any:
    house.app.receiver("org", url=Env("CRM_URL"), environment="test")
    create = salesforce.create(house.app, receiver="org", owner="lead")

    @house.app.workflow(version=1, budget=BUDGET)
    async def creating(run: Run, record: salesforce.Record) -> Receipt:
        return await run.perform(create, record)

    return creating


@pytest.mark.parametrize("status", [0, 300], ids=["reply-lost", "answered-300"])
def test_several_records_under_our_external_id_are_an_incident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async def story() -> None:
        org = Org(status, "500a", "500b")
        server = await asyncio.start_server(org.answer, "127.0.0.1", 0)
        house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        workflow = creating(house)
        house.found()
        async with house.working():
            record = salesforce.Record(number="1", object="Case", values={"Subject": "s"})
            run_id = (await house.app.submit(workflow, record, request_id="1")).run_id
            run = await house.until(run_id, lambda run: run.state.value in ("parked", "completed", "failed"))
        assert run.reason == "duplicate_found" and org.writes == 1
        (incident,) = house.app.incidents.list(open_only=True)["items"]
        assert "500a" in json.dumps(incident) and "500b" in json.dumps(incident)
        server.close()
        house.app.close()

    asyncio.run(story())


def test_a_300_that_names_nobody_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        server = await asyncio.start_server(Org(300).answer, "127.0.0.1", 0)
        house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        workflow = creating(house)
        house.found()
        async with house.working():
            record = salesforce.Record(number="1", object="Case", values={"Subject": "s"})
            run_id = (await house.app.submit(workflow, record, request_id="1")).run_id
            await house.until(run_id, lambda run: house.count(run_id, "looked_up") > 0)
        assert {said["result"] for kind, _, said in house.entries(run_id) if kind == "looked_up"} == {"unreachable"}
        assert house.app.incidents.list(open_only=True)["items"] == []
        server.close()
        house.app.close()

    asyncio.run(story())
