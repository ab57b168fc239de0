"""`/webhooks/{receiver}` over HTTP: no session, one answer to everything that is not genuine, 2xx only once it is stored."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.console.asgi import asgi
from counterfoil.engine.definitions import Env, SignedBy
from counterfoil.engine.deliveries import StoreDelivery
from counterfoil.engine.port import Call
from counterfoil.model.contract import Webhook
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.receipt import Receipt
from counterfoil.store.port import StorageError
from tests.engine.house import House, Order
from tests.engine.messages import OTHER, STANDARD, body_of, github, standard
from tests.engine.writes import contract

BODY = body_of({"type": "paid", "id": "evt_1", "data": {}})


class Hook:
    """A house of which four receivers may be called: one is good, the others lack something."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOOK_SECRET", STANDARD)
        monkeypatch.delenv("HOOK_MISSING", raising=False)
        self.house = House(folder, monkeypatch)
        receiver = self.house.app.receiver
        receiver("good", url="", environment="test", webhook=SignedBy("standard", Env("HOOK_SECRET")))
        receiver("hub", url="", environment="test", webhook=SignedBy("github", Env("HOOK_SECRET")))
        receiver("unset", url="", environment="test", webhook=SignedBy("standard", Env("HOOK_MISSING")))
        self.house.found()
        self.console = asgi(self.house.app)

    def headers(self, body: bytes = BODY, **parts: Any) -> dict[str, str]:
        return standard(body, self.house.clock.now_us(), **parts)

    def walk(self, story: Callable[[httpx2.AsyncClient], Coroutine[Any, Any, None]]) -> None:
        async def walked() -> None:
            transport = httpx2.ASGITransport(app=self.console)
            async with httpx2.AsyncClient(transport=transport, base_url="http://ledger.example") as client:
                await story(client)

        asyncio.run(walked())

    def stored(self) -> list[DeliveryRecord]:
        with self.house.app.open().read() as reader:
            return list(reader.rows(DeliveryRecord))


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Hook(tmp_path, monkeypatch)
    yield made
    made.house.clean()
    made.house.app.close()


def test_a_genuine_message_is_stored_and_answered_the_same_when_it_comes_again(hook: Hook) -> None:
    async def story(client: httpx2.AsyncClient) -> None:
        first = await client.post("/webhooks/good", content=BODY, headers=hook.headers())
        again = await client.post(
            "/webhooks/good", content=BODY, headers=hook.headers() | {"Sec-Fetch-Site": "cross-site"}
        )
        assert (first.status_code, first.json()) == (200, {"ok": True, "new": True})
        assert (again.status_code, again.json()) == (200, {"ok": True, "new": False})
        hub = await client.post("/webhooks/hub", content=BODY, headers=github(BODY))
        assert hub.json()["new"], "another receiver's message is another one"

    hook.walk(story)
    assert [(row.receiver, row.seen, row.state.value) for row in hook.stored()] == [
        ("good", 2, "other"),
        ("hub", 1, "other"),
    ]


def test_whatever_is_not_genuine_hears_the_same(hook: Hook) -> None:
    async def story(client: httpx2.AsyncClient) -> None:
        good = hook.headers()
        tries = [
            ("good", BODY, hook.headers(secret=OTHER)),
            ("good", BODY + b" ", good),
            ("good", BODY, {}),
            ("good", BODY, standard(BODY, hook.house.clock.now_us() - 301_000_000)),
            ("good", b"not json", hook.headers()),
            ("crm", BODY, good),  # declared without a webhook
            ("unset", BODY, good),
            ("nobody", BODY, good),
            ("hub", BODY, good),
        ]
        answers = [await client.post(f"/webhooks/{name}", content=body, headers=h) for name, body, h in tries]
        assert {(answer.status_code, answer.text) for answer in answers} == {(403, answers[0].text)}
        assert answers[0].json()["error"]["code"] == "webhook_refused"

    hook.walk(story)
    assert hook.stored() == []


def test_signed_nonsense_and_too_much_are_refused_by_their_own_codes(hook: Hook) -> None:
    async def story(client: httpx2.AsyncClient) -> None:
        for body in (b"[1]", b"{", b"[" * 20_000):
            answer = await client.post("/webhooks/good", content=body, headers=hook.headers(body))
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed_json")
        big = b'{"x":"' + b"x" * (1 << 20) + b'"}'
        answer = await client.post("/webhooks/good", content=big, headers=hook.headers(big))
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert (await client.get("/webhooks/good")).status_code == 405

    hook.walk(story)
    assert hook.stored() == []


def test_nobody_is_told_that_it_is_stored_before_it_is(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = hook.house.app.open()
    write = opened.writer.submit

    async def full(verb: Any) -> Any:
        if isinstance(verb, StoreDelivery):
            raise StorageError("disk_full", problem="full")
        return await write(verb)

    async def story(client: httpx2.AsyncClient) -> None:
        monkeypatch.setattr(opened.writer, "submit", full)
        answer = await client.post("/webhooks/good", content=BODY, headers=hook.headers())
        assert answer.status_code == 507
        monkeypatch.setattr(opened.writer, "submit", write)
        again = await client.post("/webhooks/good", content=BODY, headers=hook.headers())
        assert again.json() == {"ok": True, "new": True}

    hook.walk(story)


def test_a_message_that_could_not_be_matched_is_answered_all_the_same(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(delivery: str) -> None:
        raise OSError("the match fails")

    monkeypatch.setattr(hook.house.app.receipts, "match", broken)

    async def story(client: httpx2.AsyncClient) -> None:
        answer = await client.post("/webhooks/good", content=BODY, headers=hook.headers())
        assert answer.status_code == 200

    hook.walk(story)
    (row,) = hook.stored()
    assert row.state.value == "stored" and row.next_at is not None


def test_an_orphan_is_shown_in_the_console_and_closed_there(hook: Hook) -> None:
    """By whoever administers; the page, the API, the metric and the doctor say the same."""
    told = replace(contract("none"), receipts=[Webhook(type="paid", operation="data.ours", dedupe="id")])

    async def pay(call: Call, order: Order) -> Receipt:
        raise AssertionError("never sent here")

    hook.house.app.operation(receiver="good", contract=told, business_key="number", owner="lead")(pay)
    signed_in = asgi(hook.house.app, development=True, person="root")

    def orphans() -> tuple[str, list[float]]:
        (check,) = (c for c in hook.house.app.doctor()["checks"] if c["code"] == "orphans")
        metrics = {m["name"]: m["values"] for m in hook.house.app.metrics.list()["items"]}
        values = metrics["counterfoil_receipts_orphaned"]
        return check["status"], [each["value"] for each in values if each["labels"]["receiver"] == "good"]

    async def story(client: httpx2.AsyncClient) -> None:
        await client.post("/webhooks/good", content=BODY, headers=hook.headers())
        transport, base = httpx2.ASGITransport(app=signed_in), "http://127.0.0.1"
        async with httpx2.AsyncClient(transport=transport, base_url=base, headers={"Origin": base}) as browser:
            (item,) = (await browser.get("/api/v1/deliveries?orphans=true")).json()["data"]["items"]
            assert (item["state"], item["type"], item["body"]) == ("orphan", "paid", None)
            assert orphans() == ("warn", [1])
            page = (await browser.get("/deliveries?orphans=yes")).text
            assert "dlv-1" in page and "paid" in page
            assert "1 orphan" in (await browser.get("/receivers")).text
            one = (await browser.get("/deliveries/dlv-1")).text
            assert "An orphan." in one and "evt_1" in one
            closed = await browser.post("/deliveries/dlv-1/close", data={"reason": "a test of theirs"})
            assert closed.status_code == 303
            shown = (await browser.get("/api/v1/deliveries/dlv-1")).json()["data"]
            assert (shown["closed_by"], shown["reason"]) == ("root", "a test of theirs")
            assert "No delivery here" in (await browser.get("/deliveries?orphans=yes")).text
            again = await browser.post("/api/v1/deliveries/dlv-1/close", json={"reason": "again"})
            assert again.json()["error"]["code"] == "not_orphan"

    hook.walk(story)
    assert orphans() == ("ok", [0])
