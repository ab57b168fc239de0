"""One attempt over real loopback sockets: what is proven never to have left, and what a reply is worth."""

import asyncio
import contextlib
import gzip
import json
import socket
import threading

import pytest

from counterfoil.model.contract import Meaning
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.http import AttemptOver, Reply
from tests.unit.one_attempt import PLAIN, posted, sender
from tests.unit.raw_server import Watched, answer, says, serving


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
    ids=["br", "no gzip", "cut off", "twice"],
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
    hold = threading.Event()

    def hang(conversation: socket.socket, request: bytes) -> None:
        hold.wait(5)

    with serving(hang) as server:
        end, exchange = posted(server.url, timeout_s=0.5)
        hold.set()
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


def test_a_write_left_in_a_stray_task_is_a_doubt_until_it_is_shut_out() -> None:
    read, hold = threading.Event(), threading.Event()

    def hang(conversation: socket.socket, request: bytes) -> None:
        read.set()
        hold.wait(5)

    async def stray() -> Exchange | None:
        made = sender(server.url, Watched())
        task = asyncio.ensure_future(made.post("/refunds", json={}))
        await asyncio.to_thread(read.wait, 5)
        seen = made.exchange
        task.cancel()
        await asyncio.wait([task])
        return seen

    with serving(hang) as server:
        exchange = asyncio.run(stray())
        hold.set()
    assert exchange is not None
    assert (exchange.sent, exchange.problem) == (True, "the write has not ended")


def test_nothing_leaves_after_the_attempt_is_shut() -> None:
    gate = Watched()

    async def late() -> Exchange | None:
        made = sender(server.url, gate)
        made.shut()
        with pytest.raises(AttemptOver, match="is over"):
            await made.post("/refunds", json={})
        return made.exchange

    with serving(answer(200)) as server:
        exchange = asyncio.run(late())
    assert exchange is not None
    assert not exchange.sent
    assert gate.story == ["before_send"]


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
