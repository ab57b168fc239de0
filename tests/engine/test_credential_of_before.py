"""A credential is asked for when something is to be sent. What has happened is told without it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from counterfoil.engine import sender
from counterfoil.engine.definitions import Bearer, SecretFile
from counterfoil.engine.port import Run
from counterfoil.model.operation import AttemptRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import BUDGET, House, Order
from tests.engine.writes import create_case


class Go(BaseModel):
    """A signal."""


def flow_of(house: House, url: str, token: Path) -> Any:
    house.app.registry.receivers.pop("crm", None)
    house.app.receiver("crm", url=url, credential=Bearer(SecretFile(str(token))), environment="test")
    operation = create_case(house.app, "key", business_key="number")

    @house.app.workflow(version=1, budget=BUDGET)
    async def flow(run: Run, order: Order) -> str:
        try:
            first = (await run.perform(operation, order)).reference
        except Exception as problem:
            return f"it did not happen: {problem}"  # what a user would write something else after
        await run.wait_for("go", Go, within=BUDGET.elapsed)
        return first

    return flow


def test_a_replay_reads_no_credential(house: House, crm: SandboxProcess, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("once good")
    house.found()
    flow = flow_of(house, crm.url, token)

    async def begun() -> str:
        made = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
        async with house.working():
            await house.state(made, "waiting")
        return made

    run_id = asyncio.run(begun())
    token.unlink()
    house.app.close()
    house.app = house.new_app()
    flow_of(house, crm.url, token)

    async def ended() -> str:
        await house.app.signal(run_id, "go", Go(), signal_id="go")
        async with house.working():
            await house.state(run_id, "completed", "failed", "parked")
        return str(house.run(run_id).result)

    (record,) = crm.records()
    assert asyncio.run(ended()) == f'"{record["id"]}"'
    assert len(crm.records()) == 1


def test_what_cannot_be_sent_from_here_is_not_prepared(house: House, crm: SandboxProcess, tmp_path: Path) -> None:
    house.found()
    flow = flow_of(house, crm.url, tmp_path / "none")

    async def play() -> str:
        made = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
        async with house.working():
            await house.state(made, "completed")
        assert house.operations(made) == []
        return str(house.run(made).result)

    assert "it did not happen" in asyncio.run(play())
    assert crm.records() == []


def test_a_credential_that_is_exchanged_before_the_bytes_is_ruled_on_anew(
    house: House, crm: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("of account A")
    house.found()
    flow = flow_of(house, crm.url, token)
    real, bytes_of = sender.endpoint_of, list[str]()

    def exchanged(*given: Any) -> Any:
        token.write_text("of account B")
        found = real(*given)
        bytes_of.append(found.headers["Authorization"])
        return found

    monkeypatch.setattr(sender, "endpoint_of", exchanged)

    async def play() -> str:
        made = (await house.app.submit(flow, Order(number="1"), request_id="1")).run_id
        async with house.working():
            await house.state(made, "waiting")
        return made

    (operation,) = house.operations(asyncio.run(play()))
    with house.app.open().read() as reader:
        (attempt,) = reader.find(AttemptRecord, "operation_id", operation.operation_id)
    definition = house.app.registry.operations["create_case"]
    assert attempt.scope == real(house.app.registry, definition, {}, house.app.open().session).scope, (
        "the account that was sent to"
    )
    assert bytes_of == ["Bearer of account B"] * 2 and len(crm.records()) == 1
