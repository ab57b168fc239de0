"""One attempt over real loopback sockets: what is proven never to have left, and what a reply is worth."""

import asyncio
import contextlib
import gzip
import json
import socket
import threading
from datetime import timedelta
from typing import Any

import pytest

from counterfoil.model.contract import Contract, IdempotencyKey, Meaning, Reference, When
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.http import AttemptOver, LookupUnreachable, Reader, Reply, Sender
from counterfoil.receivers.sending import Sending
from tests.unit.raw_server import Script, Watched, answer, says, serving

KEY = IdempotencyKey(
    header="Idempotency-Key", retention=timedelta(hours=24), replay_marker={"Idempotent-Replayed": "true"}
)
CONTRACT = Contract(
    api_version="1",
    key=KEY,
    reference=Reference(header="X-Reference"),
    classifier=[
        When(status=200, body={"ok": False}).means("refused"),
        When(status="2xx").means("applied"),
        When(status=402).means("refused"),
    ],
)
PLAIN = Contract(api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the desk.")


def sender(
    url: str, gate: Watched, *, contract: Contract = CONTRACT, timeout_s: float = 5.0, key: str | None = "op_1-0"
) -> Sender:
    return Sender(
        url=url,
        headers={"Authorization": "Bearer secret"},
        key=key if contract.key else None,
        operation_id="op_1",
        contract=contract,
        gate=gate,
        timeout_s=timeout_s,
    )


def posted(url: str, gate: Watched | None = None, **parts: Any) -> tuple[Reply | AttemptOver, Exchange]:
    """The reply, or what ended the attempt; and the exchange."""
    how = {name: parts.pop(name) for name in ("contract", "timeout_s", "key") if name in parts}
    made = sender(url, gate or Watched(), **how)

    async def one() -> Reply | AttemptOver:
        try:
            return await made.post("/refunds", **(parts or {"json": {"amount": 1}}))
        except AttemptOver as over:
            return over

    end = asyncio.run(one())
    assert made.exchange is not None
    return end, made.exchange


def in_doubt(end: Reply | AttemptOver, exchange: Exchange) -> None:
    assert isinstance(end, AttemptOver)
    assert end.meaning is Meaning.AMBIGUOUS
    assert exchange.sent
    assert exchange.problem


# --- what never left -------------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://name.invalid:{port}"])
def test_a_refused_connection_and_an_unknown_host_are_never_sent(url: str) -> None:
    gate = Watched()
    end, exchange = posted(url.format(port=closed_port()), gate)
    assert isinstance(end, AttemptOver)
    assert (end.meaning, exchange.sent, exchange.reached) == (Meaning.NOT_APPLIED, False, "nothing")
    assert gate.story == ["before_send"]
    assert exchange.request_digest == gate.digest


def test_a_failed_tls_handshake_is_never_sent() -> None:
    with serving(says(b"this is no TLS"), read=False) as server:
        end, exchange = posted(server.url.replace("http:", "https:"))
    assert isinstance(end, AttemptOver)
    assert (end.meaning, exchange.sent, exchange.reached) == (Meaning.NOT_APPLIED, False, "connected")


def test_a_gate_that_forbids_the_first_byte_keeps_every_byte_here() -> None:
    gate = Watched(forbid="first_byte")
    with serving(answer(200)) as server:
        end, exchange = posted(server.url, gate)
    assert isinstance(end, AttemptOver)
    assert (end.reason, end.meaning, exchange.sent) == ("deadline", Meaning.NOT_APPLIED, False)
    assert end.exchange is exchange
    assert server.requests in ([], [b""])
    assert gate.story == ["before_send", "first_byte"]


def test_a_gate_that_forbids_the_attempt_leaves_no_exchange() -> None:
    gate = Watched(forbid="before_send")
    made = sender("http://127.0.0.1:9", gate)
    with pytest.raises(AttemptOver, match="fence lost"):
        asyncio.run(made.post("/refunds"))
    assert made.exchange is None
    assert gate.story == ["before_send"]


def test_a_body_that_is_no_json_is_refused_before_anything_is_recorded() -> None:
    gate = Watched()
    made = sender("http://127.0.0.1:9", gate)
    with pytest.raises(ValueError, match="JSON"):
        asyncio.run(made.post("/refunds", json={"amount": float("nan")}))
    assert gate.story == []


# --- what may have left ----------------------------------------------------------------------------------------------


def test_a_server_that_closes_before_reading_is_maybe_sent() -> None:
    with serving(None, read=False) as server:
        in_doubt(*posted(server.url))


def test_a_server_that_closes_after_reading_is_maybe_sent_and_the_request_was_handed_over() -> None:
    gate = Watched()
    with serving(None) as server:
        end, exchange = posted(server.url, gate)
    in_doubt(end, exchange)
    assert (exchange.reached, exchange.status) == ("request", None)
    assert gate.story == ["before_send", "first_byte"]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>half a pa",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
    ids=["garbage", "half a body", "cut chunks", "broken chunks", "no length", "cut headers"],
)
def test_a_broken_reply_is_no_success(reply: bytes) -> None:
    with serving(says(reply)) as server:
        in_doubt(*posted(server.url))
        in_doubt(*posted(server.url, contract=PLAIN))
    assert len(server.requests) == 2


def test_a_reply_without_length_counts_where_its_json_shows_its_end() -> None:
    with serving(says(b'HTTP/1.1 200 OK\r\n\r\n{"id":"re_1"}')) as server:
        end, exchange = posted(server.url)
    assert isinstance(end, Reply)
    assert end.json() == {"id": "re_1"}
    assert exchange.complete


def test_a_huge_reply_is_not_read_to_its_end_and_proves_nothing() -> None:
    with serving(answer(200, b" " * (3 * 1024 * 1024))) as server:
        end, exchange = posted(server.url)
    in_doubt(end, exchange)
    assert len(exchange.body) == 1024 * 1024
    assert len(json.loads(exchange.kept())["body"]) == 64 * 1024


def test_a_compressed_bomb_is_not_opened_and_proves_nothing() -> None:
    bomb = gzip.compress(b"0" * (50 * 1024 * 1024))
    with serving(answer(200, bomb, "Content-Encoding: gzip")) as server:
        end, exchange = posted(server.url)
    in_doubt(end, exchange)
    assert len(exchange.body) == len(bomb)


def test_a_modest_compressed_reply_is_opened_before_its_rules_are_read() -> None:
    refusal = gzip.compress(b'{"ok": false}')
    with serving(answer(200, refusal, "Content-Encoding: gzip")) as server:
        end, _ = posted(server.url)
    assert isinstance(end, AttemptOver)
    assert end.meaning is Meaning.REFUSED


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"??"), ("gzip", b"no gzip"), ("gzip", gzip.compress(b'{"ok": true}' * 99)[:-9]), ("gzip, gzip", b"")],
)
def test_a_reply_that_cannot_be_opened_proves_nothing(encoding: str, body: bytes) -> None:
    with serving(answer(200, body, f"Content-Encoding: {encoding}")) as server:
        in_doubt(*posted(server.url))


def test_a_redirect_is_not_followed() -> None:
    with serving(answer(307, b"", "Location: /elsewhere")) as server:
        end, exchange = posted(server.url)
    assert isinstance(end, AttemptOver)
    assert (end.meaning, exchange.status) == (Meaning.AMBIGUOUS, 307)
    assert len(server.requests) == 1


def test_a_server_that_hangs_is_given_up_and_is_maybe_sent() -> None:
    answered = threading.Event()
    with serving(lambda conversation, request: answered.wait(5) and None) as server:
        end, exchange = posted(server.url, timeout_s=0.5)
        answered.set()
    in_doubt(end, exchange)
    assert "Timeout" in (exchange.problem or "")


def test_a_stop_from_above_leaves_what_was_seen() -> None:
    read, hold = threading.Event(), threading.Event()

    def hang(conversation: socket.socket, request: bytes) -> None:
        read.set()
        hold.wait(5)

    async def stopped() -> Exchange | None:
        made = sender(server.url, Watched())
        writing = asyncio.ensure_future(made.post("/refunds", json={}))
        await asyncio.to_thread(read.wait, 5)
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing
        return made.exchange

    with serving(hang) as server:
        exchange = asyncio.run(stopped())
        hold.set()
    assert exchange is not None
    assert exchange.sent
    assert "CancelledError" in (exchange.problem or "")


# --- an answer -------------------------------------------------------------------------------------------------------


def test_an_applied_reply_is_handed_to_the_gate_first_and_then_returned() -> None:
    gate = Watched()
    with serving(answer(201, b'{"id":"re_1"}', "Idempotent-Replayed: TRUE", "Set-Cookie: a=b")) as server:
        end, exchange = posted(server.url, gate)
    assert isinstance(end, Reply)
    assert (end.status, end.text, end.json()) == (201, '{"id":"re_1"}', {"id": "re_1"})
    assert end.headers["idempotent-replayed"] == "TRUE"
    assert gate.story == ["before_send", "first_byte", "replied"]
    assert gate.exchange == exchange
    assert exchange.replayed is True
    assert "set-cookie" not in json.loads(exchange.kept())["headers"]


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [(402, b"{}", Meaning.REFUSED), (500, b"{}", Meaning.AMBIGUOUS), (200, b'{"ok":false}', Meaning.REFUSED)],
)
def test_any_other_answer_ends_the_attempt(status: int, body: bytes, meaning: Meaning) -> None:
    gate = Watched()
    with serving(answer(status, body)) as server:
        end, exchange = posted(server.url, gate)
    assert isinstance(end, AttemptOver)
    assert (end.meaning, end.exchange) == (meaning, exchange)
    assert exchange.replayed is False
    assert gate.story[-1] == "replied"


def test_no_tool_can_swallow_the_end_of_its_attempt() -> None:
    assert not issubclass(AttemptOver, Exception)


def test_half_a_success_does_not_hide_an_error_inside_it() -> None:
    with serving(answer(200, b"<html>")) as server:
        end, exchange = posted(server.url)
    assert isinstance(end, AttemptOver)
    assert end.meaning is Meaning.AMBIGUOUS
    assert exchange.complete


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


# --- a vendor's SDK --------------------------------------------------------------------------------------------------


def sdk(**parts: Any) -> tuple[Sending, list[Exchange]]:
    told: list[Exchange] = []
    return Sending(enter=lambda: "op_1-0", contract=CONTRACT, replied=told.append, **parts), told


def test_an_sdk_gets_our_key_and_its_answer_is_classified() -> None:
    sending, told = sdk()
    with sending as s:
        assert s.key == "op_1-0"
        s.reply(200, {"id": "re_1"}, headers={"Idempotent-Replayed": "true"})
        s.reply(402, "the first answer counts")
    assert sending.exchange is not None
    assert told == [sending.exchange]
    assert (sending.exchange.sent, sending.exchange.status, sending.exchange.replayed) == (True, 200, True)


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [(402, None, Meaning.REFUSED), (200, b'{"ok":false}', Meaning.REFUSED), (503, "down", Meaning.AMBIGUOUS)],
)
def test_an_answer_that_is_not_applied_ends_the_attempt(status: int, body: Any, meaning: Meaning) -> None:
    sending, _ = sdk()
    with pytest.raises(AttemptOver) as over, sending as s:
        s.reply(status, body)
    assert over.value.meaning is meaning


@pytest.mark.parametrize("problem", [None, ConnectionError("reset by peer")])
def test_no_answer_is_a_doubt_and_never_less_than_maybe_sent(problem: Exception | None) -> None:
    sending, told = sdk()

    def tool() -> None:
        with sending:
            if problem is not None:
                raise problem

    with pytest.raises(AttemptOver) as over:
        tool()
    assert over.value.meaning is Meaning.AMBIGUOUS
    assert over.value.exchange is not None
    assert over.value.exchange.sent
    assert over.value.__cause__ is problem
    assert told == []


def test_an_exception_after_the_answer_does_not_change_what_it_said() -> None:
    sending, _ = sdk()

    def tool() -> None:
        with sending as s:
            s.reply(200, {"id": "re_1"})
            raise RuntimeError("in the tool")

    with pytest.raises(RuntimeError):
        tool()
    assert sending.exchange is not None
    assert sending.exchange.status == 200


def test_an_answer_can_be_told_with_nobody_listening() -> None:
    with Sending(enter=lambda: None, contract=PLAIN) as s:
        s.reply(200)
    assert s.exchange is not None
    assert (s.key, s.exchange.body) == (None, b"")


def test_what_ends_the_process_passes_through() -> None:
    sending, _ = sdk()
    with pytest.raises(KeyboardInterrupt), sending:
        raise KeyboardInterrupt


def test_one_attempt_is_entered_once_and_answered_inside() -> None:
    sending, _ = sdk()
    with pytest.raises(Refused, match=r"outside call\.sending"):
        sending.reply(200)
    with sending as s:
        s.reply(200, {})
    with pytest.raises(Refused, match="twice"), sending:
        pass


def test_a_gate_that_forbids_keeps_the_sdk_from_being_called() -> None:
    def forbid() -> str:
        raise AttemptOver("fence lost")

    sending = Sending(enter=forbid, contract=CONTRACT)
    with pytest.raises(AttemptOver, match="fence lost"), sending:
        raise AssertionError("the block must not run")
    assert sending.exchange is None
