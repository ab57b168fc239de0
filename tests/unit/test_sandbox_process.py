"""The sandbox as a process: faults as a client sees them, its files, its control address and its end."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.sandbox import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess

CASE = {"customer": "acme"}


@pytest.fixture(scope="module")
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@pytest.fixture
def client(crm: SandboxProcess, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    """A client whose key and reference belong to this test alone."""
    headers = {"Idempotency-Key": request.node.name, "Counterfoil-Operation": "op_" + request.node.name}
    with httpx2.Client(base_url=crm.url, headers=headers, timeout=5, verify=False) as one:
        yield one


def records_of(crm: SandboxProcess, client: httpx2.Client) -> list[dict[str, object]]:
    return [record for record in crm.records() if record["key"] == client.headers["Idempotency-Key"]]


def raw_request(crm: SandboxProcess, body: bytes, *, length: int | None = None, key: str = "raw") -> socket.socket:
    """A connection on which a request has been sent."""
    place = socket.create_connection(("127.0.0.1", httpx2.URL(crm.url).port or 0), timeout=5)
    head = f"POST /cases HTTP/1.1\r\nhost: x\r\nidempotency-key: {key}\r\ncontent-length: {length or len(body)}\r\n\r\n"
    place.sendall(head.encode() + body)
    return place


def decided(crm: SandboxProcess) -> int:
    return len(crm.requests())


def test_a_write_a_repeat_and_a_lookup(crm: SandboxProcess, client: httpx2.Client) -> None:
    first, again = client.post("/cases", json=CASE), client.post("/cases", json=CASE)
    assert (first.status_code, again.status_code) == (201, 201)
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json() == again.json()
    (record,) = records_of(crm, client)
    assert record["id"] == first.json()["id"]
    assert record["payload_digest"] == "sha256:0ef2770dcea9c65d067a56f34143fc82d1cfb487aa3245b1074f48b8d9938c30"
    page = client.get("/cases", params={"reference": client.headers["Counterfoil-Operation"]}).json()
    assert [item["payload"] for item in page["data"]] == [CASE]
    assert page["has_more"] is False


def test_the_record_is_in_the_file_line_by_line(crm: SandboxProcess, client: httpx2.Client) -> None:
    client.post("/cases", json=CASE)
    lines = [json.loads(line) for line in crm.records_file.read_text().splitlines()]
    witness = crm.records()
    assert [{name: line[name] for name in witness[0]} for line in lines] == witness
    assert set(witness[0]) == {"id", "reference", "key", "payload_digest", "at"}


@pytest.mark.parametrize("fault", ["drop-reply", "garbage", "late"])
def test_a_lost_reply(crm: SandboxProcess, client: httpx2.Client, fault: str) -> None:
    crm.fault(fault, seconds=0)
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post("/cases", json=CASE)
    assert client.post("/cases", json=CASE).headers["idempotent-replayed"] == "true"
    assert len(records_of(crm, client)) == 1


def test_a_dropped_reply_has_not_one_byte(crm: SandboxProcess) -> None:
    crm.fault("drop-reply")
    with raw_request(crm, b"{}", key="dropped") as connection:
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    ("fault", "status", "records", "again"),
    [
        ("refuse", 422, 0, 422),
        ("error-before-accept", 503, 0, 201),
        ("error-after-accept", 500, 1, 500),
    ],
)
def test_an_answer_that_is_not_a_success(
    crm: SandboxProcess, client: httpx2.Client, fault: str, status: int, records: int, again: int
) -> None:
    crm.fault(fault)
    assert client.post("/cases", json=CASE).status_code == status
    assert len(records_of(crm, client)) == records
    repeat = client.post("/cases", json=CASE)
    assert repeat.status_code == again
    assert ("idempotent-replayed" in repeat.headers) is (again != 201)


def test_a_slow_reply_holds_its_key_until_it_goes_out() -> None:
    with SandboxProcess("key") as crm, httpx2.Client(base_url=crm.url, headers={"Idempotency-Key": "k"}) as client:
        crm.fault("slow", seconds=60)
        with raw_request(crm, b"{}", key="k") as connection:
            crm.wait(requests=1)
            assert len(crm.records()) == 1
            assert client.post("/cases", json={}).status_code == 409
            crm.release()
            assert connection.recv(100).startswith(b"HTTP/1.1 201 ")
        assert client.post("/cases", json={}).headers["idempotent-replayed"] == "true"


def test_a_hung_request_ends_when_its_client_goes(crm: SandboxProcess, client: httpx2.Client) -> None:
    crm.fault("hang")
    before = decided(crm)
    connection = raw_request(crm, b"{}", key=str(client.headers["Idempotency-Key"]))
    crm.wait(requests=before + 1)
    assert client.post("/cases", json={}).status_code == 409
    connection.close()
    while (repeat := client.post("/cases", json={})).status_code == 409:
        pass  # The test's own time limit bounds this; the server notices within one turn of its thread.
    assert repeat.headers["idempotent-replayed"] == "true"
    assert len(records_of(crm, client)) == 1


def test_half_a_request_is_no_request(crm: SandboxProcess) -> None:
    before = crm.get("records")
    with raw_request(crm, b'{"customer": "ac', length=100, key="half") as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    after = crm.get("records")
    assert (after["records"], after["requests"]) == (before["records"], before["requests"])


def test_writes_without_key_and_reference_are_counted() -> None:
    with SandboxProcess("none") as crm:
        httpx2.post(crm.url + "/cases", json=CASE)
        httpx2.post(crm.url + "/cases", json=CASE, headers={"Idempotency-Key": "k"})
        httpx2.post(crm.url + "/cases", json=CASE, headers={"Counterfoil-Operation": "op_1"})
        httpx2.post(crm.url + "/cases", data={"metadata[operation]": "op_1"})
        seen = crm.get("records")
    assert (seen["requests"], seen["unledgered_writes"]) == (4, 1)


def test_the_request_log(crm: SandboxProcess, client: httpx2.Client) -> None:
    crm.fault("drop-reply")
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post("/cases", json=CASE)
    last = crm.requests()[-1]
    assert (last["fault"], last["status"], last["replayed"]) == ("drop-reply", 201, False)
    assert last["record_id"] == records_of(crm, client)[0]["id"]


def test_a_fault_for_two_writes(crm: SandboxProcess, client: httpx2.Client) -> None:
    crm.fault("error-before-accept", count=2)
    assert [client.post("/cases", json=CASE).status_code for _ in range(3)] == [503, 503, 201]


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("fault", {"fault": "explode"}, "unknown fault 'explode'"),
        ("fault", {"fault": "slow", "seconds": 3600}, "0 to 60 seconds"),
        ("fault", {"fault": "slow", "count": 0}, "1 to 10000"),
        ("clock", {"advance_seconds": -1}, "forward"),
        ("clock", {}, "advance_seconds is a number"),
        ("wait", {"requests": "1"}, "requests is a number"),
        ("nonsense", {}, "there is no POST /_control/nonsense"),
    ],
)
def test_a_control_request_that_does_not_fit(
    crm: SandboxProcess, name: str, body: dict[str, object], said: str
) -> None:
    with pytest.raises(LoopbackFailed, match=said):
        crm.post(name, body)


def test_waiting_is_bounded(crm: SandboxProcess) -> None:
    with pytest.raises(TimeoutError):
        crm.wait(requests=10**6, seconds=0)


@pytest.mark.parametrize("body", [b"{", b'{"a": 1e999}', b"\xff"])
def test_a_malformed_body_gets_a_400_and_has_no_effect(crm: SandboxProcess, client: httpx2.Client, body: bytes) -> None:
    reply = client.post("/cases", content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_request")
    assert records_of(crm, client) == []


def test_an_oversized_body_is_refused_before_it_is_read(crm: SandboxProcess) -> None:
    with raw_request(crm, b"", length=10**9, key="huge") as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_chunked_body_is_read(crm: SandboxProcess, client: httpx2.Client) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"customer":'
        yield b' "acme"}'

    assert client.post("/cases", content=pieces()).json()["customer"] == "acme"


def test_the_window_ends_when_the_clock_is_moved() -> None:
    with SandboxProcess("key") as crm, httpx2.Client(base_url=crm.url, headers={"Idempotency-Key": "k"}) as client:
        client.post("/cases", json=CASE)
        crm.advance(24 * 3600)
        assert "idempotent-replayed" not in client.post("/cases", json=CASE).headers
        crm.forget_keys()
        assert "idempotent-replayed" not in client.post("/cases", json=CASE).headers
        assert len(crm.records()) == 3


def test_the_records_survive_a_crash(tmp_path: Path) -> None:
    file, headers = tmp_path / "records.jsonl", {"Idempotency-Key": "k"}
    with SandboxProcess("key", records=file, fault="drop-reply:1") as crm:
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(crm.url + "/cases", json=CASE, headers=headers)
        before = crm.records()
        assert crm.kill() == -signal.SIGKILL
    with SandboxProcess("key", records=file) as crm:
        assert crm.records() == before
        assert len(before) == 1
        assert httpx2.post(crm.url + "/cases", json=CASE, headers=headers).headers["idempotent-replayed"] == "true"
        assert crm.records_file == file


def test_a_contract_of_ones_own() -> None:
    with SandboxProcess(SandboxContract(key_header="Request-Id", saves=frozenset())) as crm:
        headers = {"Request-Id": "r-1"}
        assert [httpx2.post(crm.url + "/x", json=CASE, headers=headers).status_code for _ in range(2)] == [201, 201]
        assert [record["key"] for record in crm.records()] == ["r-1", "r-1"]


def test_it_ends_with_its_input_and_leaves_no_file_behind() -> None:
    crm = SandboxProcess("none")
    assert crm.ready["pid"] == crm.pid
    assert crm.control_url == crm.url + "/_control"
    assert crm.records_file.exists()
    assert crm.close() == 0
    assert not crm.records_file.exists()


PARENT = """
import os, signal, sys
from counterfoil.testing.sandbox.process import SandboxProcess
crm = SandboxProcess("none")
print(crm.url, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_does_not_outlive_a_killed_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        port = int(parent.stdout.readline().decode().strip().rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=8) as connection:
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            with suppress(ConnectionResetError):  # it ends with the sandbox, taken up by it before that or not
                assert connection.recv(1) == b""
        assert parent.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kind", "K"], "unknown kind 'K'"),
        (["--kind", "key", "--fault", "explode"], "unknown fault 'explode'"),
        (["--kind", "key", "--fault", "slow:x"], "NAME or NAME:COUNT"),
        (["--kind", "key", "--port", "99999"], "0-65535"),
        (["--contract", "nowhere.json"], "No such file"),
        (["--kind", "key", "--contract", "x"], "not allowed with"),
        ([], "required"),
    ],
)
def test_arguments_that_do_not_fit_get_one_sentence(arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", SandboxProcess.module, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_failed_start_says_why() -> None:
    with pytest.raises(LoopbackFailed, match="unknown fault 'explode'"):
        SandboxProcess("key", fault="explode")
