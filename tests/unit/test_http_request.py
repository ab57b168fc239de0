"""What a request carries, how often it is written, and reading for lookups, over real loopback sockets."""

import asyncio
import socket
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, When
from counterfoil.model.errors import Refused
from counterfoil.receivers.http import AttemptOver, LookupUnreachable, Reader, Reply
from tests.unit.one_attempt import CONTRACT, PLAIN, posted, sender
from tests.unit.raw_server import Script, Watched, answer, says, serving


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# --- the request -----------------------------------------------------------------------------------------------------


def test_key_reference_and_credential_are_ours_whatever_the_tool_gives() -> None:
    mine = {"idempotency-key": "mine", "authorization": "mine", "Content-Length": "3", "Transfer-Encoding": "chunked"}
    with serving(answer(200)) as server:
        posted(server.url, json={"amount": 1}, headers=mine, params={"q": "1"})
    head = server.requests[0].split(b"\r\n\r\n")[0].lower().split(b"\r\n")
    assert head[0] == b"post /refunds?q=1 http/1.1"
    ours = [line for line in head if line.startswith((b"idempotency-key", b"authorization", b"x-reference"))]
    assert sorted(ours) == [
        b"authorization: bearer secret",
        b"idempotency-key: op_1-0",
        b"x-reference: op_1",
    ]
    assert b"accept-encoding: identity" in head
    assert b"content-length: 12" in head
    assert not any(line.startswith(b"transfer-encoding") for line in head)
    assert server.requests[0].endswith(b'{"amount":1}')


@pytest.mark.parametrize(
    ("carrier", "parts", "wanted"),
    [
        ({"query": "token"}, {"json": {"a": 1}}, b"POST /refunds?token=op_1-0 HTTP/1.1"),
        ({"body": "meta.token"}, {"json": {"meta": {"b": 2}}}, b'{"meta":{"b":2,"token":"op_1-0"}}'),
        ({"body": "meta.token"}, {}, b'{"meta":{"token":"op_1-0"}}'),
        ({"body": "token"}, {"data": {"a": 1}}, b"a=1&token=op_1-0"),
    ],
)
def test_the_key_travels_where_the_contract_says(carrier: Any, parts: Any, wanted: bytes) -> None:
    key = IdempotencyKey(retention=timedelta(hours=1), **carrier)
    by_key = Contract(api_version="1", key=key, classifier=[When(status="2xx").means("applied")])
    parts = parts or {"headers": {}}
    with serving(answer(200)) as server:
        posted(server.url, contract=by_key, **parts)
    assert wanted in server.requests[0]


def digest_for(**parts: Any) -> str:
    gate = Watched(forbid="before_send")
    made = sender("http://127.0.0.1:9", gate, contract=parts.pop("contract", CONTRACT))
    with pytest.raises(AttemptOver):
        asyncio.run(made.post(parts.pop("path", "/refunds"), **parts))
    return gate.digest


def test_the_digest_covers_what_the_receiver_acts_on_and_nothing_else() -> None:
    same = digest_for(json={"a": 1})
    assert same.startswith("sha256:")
    assert digest_for(json={"a": 1}, headers={"X-Trace": "7"}) == same
    others = [
        digest_for(json={"a": 2}),
        digest_for(json={"a": 1}, params={"q": "1"}),
        digest_for(json={"a": 1}, path="/other"),
        digest_for(content=b'{"a":1}', headers={"content-type": "text/plain"}),
        digest_for(json={"a": 1}, contract=PLAIN),
    ]
    assert len({same, *others}) == 6


def test_one_attempt_makes_one_write() -> None:
    async def two() -> None:
        made = sender(server.url, Watched())
        await made.put("/refunds/1", json={})
        for write in (made.post, made.put, made.patch, made.delete):
            with pytest.raises(Refused, match="one write") as refused:
                await write("/refunds")
            assert refused.value.code == "outside_operation"
        assert (await made.get("/refunds", params={"limit": 1})).json() == {"id": "re_1"}

    with serving(answer(200)) as server:
        asyncio.run(two())
    assert [request.split(b" HTTP")[0] for request in server.requests] == [b"PUT /refunds/1", b"GET /refunds?limit=1"]
    assert b"idempotency-key" not in server.requests[1].lower()


@pytest.mark.parametrize("method", ["patch", "delete"])
def test_every_method_that_writes_is_a_write(method: str) -> None:
    gate = Watched()
    with serving(answer(200)) as server:
        asyncio.run(getattr(sender(server.url, gate), method)("/refunds/1"))
    assert server.requests[0].startswith(method.upper().encode())
    assert gate.story == ["before_send", "first_byte", "replied"]


@pytest.mark.parametrize("path", ["http://127.0.0.1:1/x", "//127.0.0.1/x", "\\\\127.0.0.1\\x"])
def test_a_path_cannot_leave_the_receiver(path: str) -> None:
    gate = Watched()
    with pytest.raises(Refused, match="leaves the receiver"):
        asyncio.run(sender("http://127.0.0.1:9", gate).post(path))
    assert gate.story == []


# --- reading ---------------------------------------------------------------------------------------------------------


def read(url: str, path: str = "/refunds", **parts: Any) -> Reply:
    return asyncio.run(Reader(url=url, headers={"Authorization": "Bearer secret"}, timeout_s=5.0).get(path, **parts))


def test_a_read_carries_the_credential_and_its_parameters() -> None:
    with serving(answer(404, b"{}")) as server:
        assert read(server.url, params={"charge": "ch_1"}, headers={"X-Mine": "1"}).status == 404
    head = server.requests[0].lower()
    assert head.startswith(b"get /refunds?charge=ch_1 ")
    assert b"authorization: bearer secret" in head
    assert b"x-mine: 1" in head


@pytest.mark.parametrize(
    "script",
    [
        None,
        answer(500),
        answer(429),
        answer(302, b"", "Location: /login"),
        answer(200, b"[]", "Content-Encoding: br"),
        says(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"data'),
    ],
    ids=["closes", "5xx", "too many", "redirect", "encoded", "cut"],
)
def test_a_receiver_that_cannot_say_is_unreachable(script: Script | None) -> None:
    with serving(script) as server, pytest.raises(LookupUnreachable):
        read(server.url)


def test_a_refused_connection_is_unreachable() -> None:
    with pytest.raises(LookupUnreachable, match="ConnectError"):
        read(f"http://127.0.0.1:{closed_port()}")
