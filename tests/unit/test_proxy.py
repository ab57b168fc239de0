"""The proxy before a receiver that is not ours: what reaches it, and what the client sees."""

import socket
from collections.abc import Iterator

import httpx2
import pytest

from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.sandbox.process import SandboxProcess

CASE = {"customer": "acme"}


@pytest.fixture(scope="module")
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@pytest.fixture(scope="module")
def proxy(crm: SandboxProcess) -> Iterator[ProxyProcess]:
    with ProxyProcess(crm.url) as process:
        yield process


@pytest.fixture
def client(proxy: ProxyProcess, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    headers = {"Idempotency-Key": request.node.name, "Counterfoil-Operation": "op_" + request.node.name}
    with httpx2.Client(base_url=proxy.url, headers=headers, timeout=5, verify=False) as one:
        yield one


def records_of(crm: SandboxProcess, client: httpx2.Client) -> int:
    return len([record for record in crm.records() if record["key"] == client.headers["Idempotency-Key"]])


def test_a_whole_exchange_goes_through(crm: SandboxProcess, client: httpx2.Client) -> None:
    first, again = client.post("/cases?x=1", json=CASE), client.post("/cases?x=1", json=CASE)
    assert (first.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert first.headers["content-type"] == "application/json"
    found = client.get("/cases", params={"reference": client.headers["Counterfoil-Operation"]}).json()["data"]
    assert [item["id"] for item in found] == [first.json()["id"]]
    assert client.get("/nothing/here").status_code == 404
    assert records_of(crm, client) == 1


def test_a_form_and_a_chunked_body_go_through(client: httpx2.Client) -> None:
    assert client.post("/forms", data={"amount": "7"}).json()["amount"] == 7
    assert client.post("/chunks", content=iter([b'{"amount"', b": 8}"])).json()["amount"] == 8


@pytest.mark.parametrize("fault", ["drop-reply", "garbage"])
def test_a_reply_is_lost_after_the_receiver_has_answered(
    crm: SandboxProcess, proxy: ProxyProcess, client: httpx2.Client, fault: str
) -> None:
    proxy.fault(fault)
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post("/cases", json=CASE)
    assert records_of(crm, client) == 1
    assert (proxy.requests()[-1]["fault"], proxy.requests()[-1]["status"]) == (fault, 201)
    assert client.post("/cases", json=CASE).headers["idempotent-replayed"] == "true"


def test_an_error_in_place_of_the_answer(crm: SandboxProcess, proxy: ProxyProcess, client: httpx2.Client) -> None:
    proxy.fault("error-after-accept")
    assert client.post("/cases", json=CASE).status_code == 500
    assert records_of(crm, client) == 1
    assert client.post("/cases", json=CASE).status_code == 201


@pytest.mark.parametrize(("fault", "status"), [("refuse", 422), ("error-before-accept", 503)])
def test_what_is_refused_here_is_not_forwarded(
    crm: SandboxProcess, proxy: ProxyProcess, client: httpx2.Client, fault: str, status: int
) -> None:
    before = proxy.get("records")
    proxy.fault(fault)
    assert client.post("/cases", json=CASE).status_code == status
    after = proxy.get("records")
    assert records_of(crm, client) == 0
    assert (int(str(after["requests"])) - int(str(before["requests"])), after["forwarded"]) == (1, before["forwarded"])


def test_lookups_are_not_writes_and_take_no_fault(proxy: ProxyProcess, client: httpx2.Client) -> None:
    proxy.fault("drop-reply")
    before = proxy.get("records")["requests"]
    assert client.get("/cases").status_code == 200
    assert proxy.get("records")["requests"] == before
    proxy.post("fault", {"fault": None})
    assert proxy.get("")["faults"] == []


@pytest.mark.parametrize("fault", ["slow", "hang"])
def test_a_reply_is_held_back(crm: SandboxProcess, client: httpx2.Client, fault: str) -> None:
    key = str(client.headers["Idempotency-Key"])
    content = f"POST /cases HTTP/1.1\r\nhost: x\r\nidempotency-key: {key}\r\ncontent-length: 2\r\n\r\n{{}}".encode()
    with (
        ProxyProcess(crm.url, fault=fault) as proxy,
        socket.create_connection(("127.0.0.1", httpx2.URL(proxy.url).port or 0), timeout=5) as connection,
    ):
        connection.sendall(content)
        proxy.wait(requests=1)
        assert records_of(crm, client) == 1
        proxy.post("release")
        if fault == "slow":
            assert connection.recv(100).startswith(b"HTTP/1.1 201 ")
        else:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b"", "it ends with the client, without an answer"


def test_the_control_address_is_not_forwarded(crm: SandboxProcess, proxy: ProxyProcess) -> None:
    assert proxy.get("records")["records"] is None
    assert crm.get("records")["records"] is not None
    assert proxy.ready["records_file"] is None


def test_an_upstream_that_is_not_there_is_doubt_not_refusal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with ProxyProcess(nobody) as proxy:
        reply = httpx2.post(proxy.url + "/cases", json=CASE)
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_failed")


def test_an_address_that_is_none() -> None:
    with pytest.raises(LoopbackFailed, match="--to takes an http or https address"):
        ProxyProcess("ftp://example.com")


def test_it_ends_with_its_input(crm: SandboxProcess) -> None:
    assert ProxyProcess(crm.url).close() == 0
