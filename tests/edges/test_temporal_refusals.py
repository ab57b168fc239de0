"""What is refused at a real server of Temporal, what its stored payloads show, and the page's own program."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.converter import DataConverter
from temporalio.worker import Worker

from counterfoil.app.opening import Founding
from counterfoil.engine.clock import Chance, SystemClock
from counterfoil.examples import first_app
from counterfoil.integrations.temporal import CounterfoilPlugin, EncryptionCodec, check_namespace
from counterfoil.integrations.temporal.connecting import connected
from counterfoil.integrations.temporal.references import reference_to, referred
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.docs.pages import blocks
from tests.edges import temporal_app
from tests.edges.temporal_app import Case, app, changed
from tests.edges.temporal_bench import Bench, benched
from tests.servers.temporal import shared


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with benched(tmp_path, monkeypatch) as bench:
        yield bench


def test_a_namespace_without_the_search_attribute(bench: Bench) -> None:
    async def story() -> None:
        client = await bench.connect()
        await check_namespace(client)  # `default` has it
        name = bench.name
        day = Duration(seconds=86400)
        await client.workflow_service.register_namespace(
            RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=day)
        )
        for namespace, code in ((name, "temporal_search_attribute"), (f"{name}-none", "temporal_namespace")):
            other = await Client.connect(shared().address, namespace=namespace, plugins=[CounterfoilPlugin(app)])
            never, clock = asyncio.Event(), SystemClock()
            for _ in range(100):  # a new namespace is known everywhere after a moment
                try:
                    await check_namespace(other)
                except Refused as refused:
                    found = refused.code
                    if found == code:
                        break
                await clock.wait(never, clock.now_us() + 100_000)
            assert found == code

    asyncio.run(story())


def test_a_worker_in_such_a_namespace_does_not_start(bench: Bench) -> None:
    async def story() -> None:
        client = await Client.connect(shared().address, namespace="nowhere", plugins=[CounterfoilPlugin(app)])
        with pytest.raises(Refused, match="temporal_namespace"):
            await asyncio.wait_for(Worker(client, task_queue=bench.name).run(), 30)

    asyncio.run(story())


def test_payloads_are_unreadable_without_the_key(bench: Bench) -> None:
    keys = {"old": bytes(32), "new": bytes(range(32))}

    async def story() -> None:
        client = await bench.connect(codec=EncryptionCodec(keys, current="new"))
        async with Worker(client, task_queue=bench.name):
            started = await bench.submit(temporal_app.once, "Secretive Ltd")
            receipt = await bench.result(started)
            assert receipt["reference"]
        plain = await Client.connect(shared().address)
        history = (await plain.get_workflow_handle(started.workflow_id).fetch_history()).to_json()
        assert "Secretive" not in history and receipt["reference"] not in history

    asyncio.run(story())
    assert bench.records == 1


def test_what_a_failure_says_is_unreadable_too(bench: Bench) -> None:
    async def story() -> None:
        client = await bench.connect(codec=EncryptionCodec({"new": bytes(32)}, current="new"))
        changed["stumble"] = 1
        async with Worker(client, task_queue=bench.name):
            started = await bench.submit(temporal_app.stumbles)
            with pytest.raises(WorkflowFailureError) as failed:
                await bench.result(started)
            assert "it stumbled" in str(failed.value.cause)
        plain = await Client.connect(shared().address)
        history = await plain.get_workflow_handle(started.workflow_id).fetch_history()
        assert "stumbled" not in history.to_json()

    asyncio.run(story())


def test_a_changed_payload_and_a_missing_key_are_refused() -> None:
    async def story() -> None:
        old = EncryptionCodec({"old": bytes(32)}, current="old")
        both = EncryptionCodec({"old": bytes(32), "new": bytes(range(32))}, current="new")
        (plain,) = await DataConverter.default.encode(["Secretive Ltd"])
        (sealed,) = await old.encode([plain])
        assert await both.decode([sealed]) == [plain] and await both.decode([plain]) == [plain]
        (newer,) = await both.encode([plain])
        assert newer.data != (await both.encode([plain]))[0].data, "no nonce is used twice"
        with pytest.raises(Refused, match="temporal_key"):
            await old.decode([newer])
        sealed.data = sealed.data[:-1] + bytes([sealed.data[-1] ^ 1])
        with pytest.raises(Refused, match="temporal_key"):
            await both.decode([sealed])

    asyncio.run(story())


def test_a_cluster_that_is_not_there(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERFOIL_TEMPORAL_ADDRESS", "127.0.0.1:9")
    with pytest.raises(CounterfoilError, match="temporal_down"):
        asyncio.run(connected(app))


def test_a_function_that_no_module_holds(bench: Bench) -> None:
    assert referred(reference_to(temporal_app.count, {}, what="a step")) is temporal_app.count
    assert referred(reference_to(Case, {}, what="a type")) is Case
    with pytest.raises(Refused, match="temporal_unreachable"):
        reference_to(lambda: None, {}, what="a step")
    with pytest.raises(Refused, match="temporal_unreachable"):
        referred("tests.edges.temporal_app:gone")


def test_the_page_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/temporal.md: its program, with this server's address."""
    (text,) = [block.text for block in blocks("docs/temporal.md") if "async def main" in block.text]
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    name = f"t{Chance().hex(48)}"
    printed: dict[str, Any] = {"__name__": "printed"}
    text = text.replace("127.0.0.1:7233", shared().address).replace("shop", name).replace('id="4711"', f'id="{name}"')
    exec(compile(text, "docs/temporal.md", "exec"), printed)
    with SandboxProcess("key", records=tmp_path / "records.jsonl") as shop:
        monkeypatch.setenv("SHOP_URL", shop.url)
        first_app.app.db = str(tmp_path / "counterfoil.db")
        first_app.app.open(Founding())

        async def story() -> str:
            await first_app.app.people.add("ana", roles=["buyer", "buying-lead"], secret="s-of-ana")
            program = asyncio.create_task(printed["main"]())
            never, clock = asyncio.Event(), SystemClock()
            while not (open_ := first_app.app.reviews.list()["items"]):
                assert not program.done(), program.result()
                await clock.wait(never, clock.now_us() + 20_000)
            (review,) = open_
            await first_app.app.reviews.approve(
                review["review_id"], digest=review["digest"], by="ana", secret="s-of-ana"
            )
            return await asyncio.wait_for(program, 60)

        try:
            assert asyncio.run(story()) == shop.records()[0]["id"]
        finally:
            first_app.app.close()
