"""A receiver's credential is a reference. Its value is in no row, log, span, artifact or message, whatever comes back."""

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app import App
from counterfoil.app.tracing.exporting import Exporting
from counterfoil.engine.definitions import Bearer, Env, Keyring, SecretFile
from counterfoil.engine.endpoint import endpoint_of, value_of
from counterfoil.engine.port import Ask, Call, Run
from counterfoil.model.contract import Contract, Found, Lookup, Reference, Seen, When
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.receipt import Receipt
from tests.engine.collector import Collector, collecting
from tests.engine.house import BUDGET, House, Order

SECRET = "sk_planted_4f1d9c07"
LONG = 70_000  # more than a receipt's body may be: it becomes an artifact


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


class Echo:
    """A receiver that says the credential back wherever it can, refuses a number that begins with `no`, and forgets to answer
    one that begins with `lost`."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        lower = {name.lower(): value for name, value in lines.items()}
        said = json.loads(await reader.readexactly(int(lower.get("content-length", "0"))) or b"{}")
        number, shown = str(said.get("number", "")), lower["authorization"]
        if number.startswith("lost"):
            writer.close()
            return
        status = "422 No" if number.startswith("no") else "200 OK"
        body = json.dumps(
            {"id": f"ref-{number}", "you": shown, "data": [], "long": f"{shown} " * (LONG // 30)}
        ).encode()
        lines_out = f"HTTP/1.1 {status}\r\nX-You: {shown}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(lines_out.encode() + body)
        await writer.drain()
        writer.close()


class LongReceipt(Receipt):
    you: str = ""
    long: str = ""


def paying(app: App) -> Any:
    async def find(ask: Ask, order: Order) -> Seen[LongReceipt]:
        page = (await ask.http.get("/pay")).json()
        if order.number == "lost-2":
            raise RuntimeError(f"the page says {page['you']}")
        return Seen([Found(LongReceipt(reference="ref", you=page["you"], long=page["long"]))], complete=True)

    @app.operation(
        receiver="bank",
        contract=Contract(
            api_version="1", duplicate="costly", reference=Reference(header="Operation"),
            classifier=[When(status="2xx").means("applied"), When(status=422).means("refused")],
            lookup=Lookup(find, consistency="strong"),
        ),
        business_key="number",
        owner="lead",
    )  # fmt: skip
    async def pay(call: Call, order: Order) -> LongReceipt:
        if order.number == "bad":
            shown = (await call.http.get("/pay")).json()["you"]
            raise RuntimeError(f"we are called {shown}")
        reply = (await call.http.post("/pay", json=order.model_dump())).json()
        return LongReceipt(reference=reply["id"], you=reply["you"], long=reply["long"])

    @app.workflow(version=1, budget=BUDGET)
    async def paying(run: Run, order: Order) -> LongReceipt:
        return await run.perform(pay, order)

    return paying


def leaks(folder: Path) -> list[str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert any(path.name.endswith("-wal") for path in files) and len(files) > 3
    return [str(path) for path in files if SECRET.encode() in path.read_bytes()]


def attempts_of(house: House, run_id: str) -> list[AttemptRecord]:
    with house.app.open().read() as reader:
        return reader.find(AttemptRecord, "operation_id", house.operations(run_id)[0].operation_id)


def test_a_planted_credential_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BANK_KEY", SECRET)
    caplog.set_level(logging.INFO)  # at DEBUG the transport itself logs the headers that come back

    async def story() -> None:
        echo = Echo()
        server = await asyncio.start_server(echo.answer, "127.0.0.1", 0)
        house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        house.app.receiver("bank", url=Env("CRM_URL"), credential=Bearer(Env("BANK_KEY")), environment="test")
        workflow = paying(house.app)
        house.found()
        exporting = Exporting(house.app, collector.url)
        await exporting.begin()
        async with house.working():
            runs = {}
            for number in ("1", "no-1", "lost-1", "lost-2", "bad"):
                runs[number] = (await house.app.submit(workflow, Order(number=number), request_id=number)).run_id
            await house.state(runs["1"], "completed")
            await house.until(runs["no-1"], lambda run: run.state.value in ("failed", "parked"))
            for number in ("lost-1", "lost-2", "bad"):
                await house.until(runs[number], lambda run: run.state.value in ("waiting", "parked"))
        await exporting.tell_traces()
        shown = json.dumps([house.app.runs.show(run_id) for run_id in runs.values()], default=str)
        assert any(f"Bearer {SECRET}" in head for head in echo.heads), "it was sent"
        assert "[credential]" in json.dumps([house.entries(run_id) for run_id in runs.values()])
        assert SECRET not in shown
        assert leaks(tmp_path) == []
        assert collector.bodies and not any(SECRET.encode() in body for body in collector.bodies)
        assert SECRET not in caplog.text
        server.close()
        house.app.close()

    asyncio.run(story())


def test_a_credential_that_the_transport_quotes_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break in it is refused by the transport, in words that hold it."""
    monkeypatch.setenv("BANK_KEY", f"{SECRET}\nX")

    async def story() -> None:
        server = await asyncio.start_server(Echo().answer, "127.0.0.1", 0)
        house = House(tmp_path, monkeypatch, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        house.app.receiver("bank", url=Env("CRM_URL"), credential=Bearer(Env("BANK_KEY")), environment="test")
        workflow = paying(house.app)
        house.found()
        async with house.working():
            run_id = (await house.app.submit(workflow, Order(number="1"), request_id="1")).run_id
            await house.until(run_id, lambda run: run.failed_tries > 0 or run.state.value == "parked")
        (attempt,) = attempts_of(house, run_id)
        assert "Illegal header value" in (attempt.exchange or ""), "the transport did quote it"
        server.close()
        assert leaks(tmp_path) == []
        house.app.close()

    asyncio.run(story())


def test_references_to_a_file_and_to_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring

    held = {("stripe", "live"): SECRET}
    monkeypatch.setattr(keyring, "get_password", lambda service, name: held.get((service, name)))
    place = tmp_path / "secret"
    place.write_text(f" {SECRET}\n")
    assert value_of(SecretFile(str(place)), {}) == value_of(Keyring("stripe", "live"), {}) == SECRET
    place.write_bytes(b"\xff\xfe" + SECRET.encode())
    for reference in (SecretFile(str(place)), SecretFile(str(tmp_path / "none")), Keyring("stripe", "test")):
        with pytest.raises(Refused) as refused:
            value_of(reference, {})
        assert refused.value.code == "credential_missing" and SECRET not in str(refused.value)
    place.write_text(" \n")
    with pytest.raises(Refused, match="empty"):
        value_of(SecretFile(str(place)), {})


def test_another_credential_is_another_scope(tmp_path: Path) -> None:
    """The attempt stores this digest: a repeat under another account is no repeat."""
    place = tmp_path / "secret"
    app = App("x")
    app.receiver("bank", url="http://127.0.0.1:9", credential=Bearer(SecretFile(str(place))), environment="test")
    paying(app)
    scopes = list[str]()
    for token in ("one-account", "another-account", "one-account"):
        place.write_text(token)
        endpoint = endpoint_of(app.registry, app.registry.operations["pay"], {})
        assert endpoint.headers == {"Authorization": f"Bearer {token}"}
        scopes.append(endpoint.approval_scope)
    assert scopes[0] == scopes[2] != scopes[1]
