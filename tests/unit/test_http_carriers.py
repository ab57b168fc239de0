"""Where the contract's values stand in a request, and what is refused before a byte leaves."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, Version, When
from counterfoil.model.errors import Refused
from counterfoil.receivers.carriers import filled
from counterfoil.receivers.http import Reader
from tests.unit.one_attempt import sender
from tests.unit.raw_server import Watched, answer, serving

APPLIED = [When(status="2xx").means("applied")]


def made(**parts: Any) -> Contract:
    return Contract(api_version="v1", classifier=APPLIED, **parts)


def key(**place: Any) -> dict[str, Any]:
    return {"key": IdempotencyKey(retention=timedelta(hours=1), **place)}


def requested(contract: Contract, path: str = "/v1/refunds", **parts: Any) -> bytes:
    """The one request that reached the receiver. Raises what the write raised."""
    with serving(answer(200)) as server:
        asyncio.run(_write(server.url, contract, path, parts))
        return server.requests[0]


async def _write(url: str, contract: Contract, path: str, parts: dict[str, Any]) -> None:
    rest: Any = parts or {"json": {"amount": 1}}
    await sender(url, Watched(), contract=contract).post(path, **rest)


def body_of(request: bytes) -> Any:
    return json.loads(request.partition(b"\r\n\r\n")[2])


def test_a_key_takes_the_place_of_its_word_in_the_path() -> None:
    request = requested(made(**key(path="{key}")), "/v1/objects/{key}")
    assert request.startswith(b"POST /v1/objects/op_1-0 HTTP")


@pytest.mark.parametrize("path", ["/v1/objects", "/v1/{key}/{key}"])
def test_a_path_without_the_place_for_its_key_is_not_sent(path: str) -> None:
    with pytest.raises(Refused) as refused:
        requested(made(**key(path="{key}")), path)
    assert refused.value.code == "outside_operation"


def test_a_key_stands_inside_the_tools_own_text() -> None:
    quoted = requested(made(**key(header="Idempotency-Key")), headers={"Idempotency-Key": '"{key}"'}, json={})
    assert b'idempotency-key: "op_1-0"\r\n' in quoted.lower()
    named = requested(made(**key(body="task.name")), json={"task": {"name": "queues/q/tasks/{key}"}})
    assert body_of(named) == {"task": {"name": "queues/q/tasks/op_1-0"}}
    asked = requested(made(**key(query="id")), params={"id": "own-{key}"}, json={})
    assert asked.startswith(b"POST /v1/refunds?id=own-op_1-0 ")


def test_a_tool_that_names_another_key_does_not_get_it() -> None:
    request = requested(made(**key(header="Idempotency-Key")), headers={"idempotency-key": "mine"}, json={})
    assert b"idempotency-key: op_1-0\r\n" in request.lower() and b"mine" not in request
    assert filled(7, "op_1-0") == "op_1-0"


@pytest.mark.parametrize(
    ("version", "path", "parts"),
    [
        (Version(header="X-Version"), "/refunds", {"headers": {"x-version": "v2"}, "json": {}}),
        (Version(query="v"), "/refunds", {"params": {"v": "v2"}, "json": {}}),
        (Version(body="meta.version"), "/refunds", {"json": {"meta": {"version": "v2"}}}),
        (Version(body="version"), "/refunds", {"data": {"version": "v2"}}),
        (Version(path="/{}/"), "/v2/refunds", {"json": {}}),
        (Version(path="/{}/"), "/refunds?v=/v1/", {"json": {}}),
    ],
)
def test_another_version_than_the_contracts_is_not_sent(version: Version, path: str, parts: dict[str, Any]) -> None:
    gate = Watched()

    async def write(url: str) -> None:
        await sender(url, gate, contract=made(version=version)).post(path, **parts)

    with serving(answer(200)) as server, pytest.raises(Refused) as refused:
        asyncio.run(write(server.url))
    assert refused.value.code == "contract_version_mismatch" and "v1" in refused.value.message
    assert server.requests == []


@pytest.mark.parametrize(
    ("version", "parts", "shown"),
    [
        (Version(header="X-Version"), {"json": {}}, b"x-version: v1\r\n"),
        (Version(header="X-Version"), {"headers": {"X-VERSION": "v1"}, "json": {}}, b"x-version: v1\r\n"),
        (Version(query="v"), {"json": {}}, b"?v=v1 "),
        (Version(body="meta.version"), {"json": {"meta": {"by": 1}}}, b'"meta":{"by":1,"version":"v1"}'),
        (Version(body="version"), {"data": {"amount": 1}}, b"version=v1"),
        (Version(path="/{}/"), {"json": {}}, b"/v1/refunds "),
    ],
)
def test_the_contracts_version_goes_out(version: Version, parts: dict[str, Any], shown: bytes) -> None:
    request = requested(made(version=version), **parts)
    assert shown in request or shown in request.lower()


@pytest.mark.parametrize(
    ("version", "parts", "shown"),
    [
        (Version(header="X-Version"), {}, b"x-version: v1\r\n"),
        (Version(header="X-Version"), {"headers": {"X-VERSION": "v1"}}, b"x-version: v1\r\n"),
        (Version(query="v"), {"params": {"limit": 1}}, b"?limit=1&v=v1 "),
        (None, {"headers": {"X-Version": "v9"}}, b"x-version: v9\r\n"),
    ],
)
def test_a_lookup_asks_at_the_contracts_version_too(
    version: Version | None, parts: dict[str, Any], shown: bytes
) -> None:
    with serving(answer(200)) as server:
        asyncio.run(Reader(url=server.url, headers={}, timeout_s=5, contract=made(version=version)).get("/x", **parts))
    assert shown in server.requests[0].lower() and server.requests[0].lower().count(b"v1") <= 1


@pytest.mark.parametrize(
    ("version", "parts"),
    [(Version(header="X-Version"), {"headers": {"x-version": "v2"}}), (Version(query="v"), {"params": {"v": "v2"}})],
)
def test_a_lookup_at_another_version_is_not_asked(version: Version, parts: dict[str, Any]) -> None:
    async def read(url: str) -> None:
        await Reader(url=url, headers={}, timeout_s=5, contract=made(version=version)).get("/x", **parts)

    with serving(answer(200)) as server, pytest.raises(Refused) as refused:
        asyncio.run(read(server.url))
    assert refused.value.code == "contract_version_mismatch" and server.requests == []
