"""One HTTP exchange on the loopback: a whole request in, then a reply, other bytes, or nothing at all."""

import json
import select
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from counterfoil.testing.loopback.digest import as_object, parse_json
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault

LARGEST_BODY_BYTES = 16 * 1024 * 1024
CONTROL = "/_control"
READING = ("Describe", "Get", "List")  # how actions begin that only read
NOT_HTTP = b"\x16\x03\x01\x00{not http, not json\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A request that has arrived completely. Header names are in lower case."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_write(self) -> bool:
        """Whether it asks for an effect: by its method, and where every request is a POST, as at AWS, by its action."""
        action = self.headers.get("x-amz-target", "").rpartition(".")[2]
        return self.method not in {"GET", "HEAD", "OPTIONS"} and not action.startswith(READING)

    def json_object(self) -> dict[str, object]:
        """The body as a JSON object; an empty body is an empty object. ValueError when it is neither."""
        if self.body and not isinstance(parse_json(self.body), dict):
            raise ValueError("the body is not a JSON object")
        return as_object(parse_json(self.body)) if self.body else {}


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: a status with a JSON body, or `content` with the bytes of another server."""

    status: int
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content: bytes | None = None

    def encoded(self) -> bytes:
        """The bytes of the body."""
        return json.dumps(self.body).encode() if self.content is None else self.content


def refusal(fault: Fault) -> Reply:
    """What `refuse` answers: 422, unless it was armed with a status, a body and headers of its own."""
    plain = error_reply(fault.status or 422, "refused", "refused without effect")
    return Reply(plain.status, plain.body if fault.body is None else dict(fault.body), fault.headers or {})


def error_reply(status: int, code: str, message: str) -> Reply:
    """A refusal in the shape that all loopback servers use: `{"error": {"type", "code", "message"}}`."""
    return Reply(status, {"error": {"type": "invalid_request_error", "code": code, "message": message}})


class CutShort(Exception):
    """The client went away before its request was complete; nothing of it counts."""


class Server(Protocol):
    """What an exchange needs from the stand-in that it belongs to."""

    released: threading.Event

    def serve(self, exchange: "Exchange", request: Request) -> None:
        """Serve a request for the stand-in itself."""
        ...

    def control(self, name: str, request: Request) -> Reply:
        """Answer `/_control/NAME`. ValueError and LookupError become a 400 and a 404."""
        ...


class Exchange(BaseHTTPRequestHandler):
    """One connection. Reads whole requests and hands them to the stand-in of its server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = LONGEST_HOLD_SECONDS
    stand_in: "Server"

    def do_GET(self) -> None:
        """Serve one request of any method; the standard library finds it by this name."""
        try:
            request = self._read()
        except CutShort:
            self.close_connection = True
            return
        except ValueError as reason:
            self.close_connection = True
            self.send(error_reply(400, "bad_request", str(reason)))
            return
        if request.path == CONTROL or request.path.startswith(CONTROL + "/"):
            self._serve_control(request)
        else:
            self.stand_in.serve(self, request)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def send(self, reply: Reply) -> None:
        """Send a reply as one piece."""
        content = reply.encoded()
        self.send_response_only(reply.status)
        names = {name.lower() for name in reply.headers}
        if "content-type" not in names:
            self.send_header("content-type", "application/json")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.wfile.flush()

    def hold(self, fault: Fault | None) -> None:
        """Keep the client waiting as the fault says. Bounded; a `release` ends `slow` early."""
        if fault is None:
            return
        if fault.name == "slow":
            self.stand_in.released.wait(1.0 if fault.seconds is None else fault.seconds)
        if fault.name == "hang":
            self._wait_until_client_left()

    def deliver(self, reply: Reply, fault: Fault | None) -> None:
        """Send the reply, or what the fault puts in its place."""
        name = None if fault is None else fault.name
        if name in {"drop-reply", "hang", "late"}:
            self.close_connection = True
            return
        if name == "garbage":
            self.close_connection = True
            self.wfile.write(NOT_HTTP)
            return
        self.send(reply)

    def log_message(self, format: str, *args: object) -> None:
        """Standard error stays empty; the request log is at /_control/requests."""

    def _serve_control(self, request: Request) -> None:
        try:
            reply = self.stand_in.control(request.path.removeprefix(CONTROL).strip("/"), request)
        except LookupError:
            reply = error_reply(404, "not_found", f"there is no {request.method} {request.path}")
        except ValueError as reason:
            reply = error_reply(400, "bad_request", str(reason))
        self.send(reply)

    def _wait_until_client_left(self) -> None:
        readable, _, _ = select.select([self.connection], [], [], LONGEST_HOLD_SECONDS)
        if readable:
            self.connection.recv(1, socket.MSG_PEEK)

    def _read(self) -> Request:
        parts = urlsplit(self.path)
        return Request(
            method=self.command,
            target=self.path,
            path=unquote(parts.path) or "/",
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self._read_body(),
        )

    def _read_body(self) -> bytes:
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            return self._read_chunks()
        length = self.headers.get("content-length") or "0"
        if not length.isdecimal() or int(length) > LARGEST_BODY_BYTES:
            raise ValueError(f"a body has 0 to {LARGEST_BODY_BYTES} bytes, not {length}")
        return self._exactly(int(length))

    def _read_chunks(self) -> bytes:
        content = b""
        while size := int(self.rfile.readline(100).split(b";")[0] or b"0", 16):
            if size + len(content) > LARGEST_BODY_BYTES:
                raise ValueError(f"a body has 0 to {LARGEST_BODY_BYTES} bytes")
            content += self._exactly(size)
            self._exactly(2)
        while self.rfile.readline(1000).strip():
            pass
        return content

    def _exactly(self, size: int) -> bytes:
        # A client that died while it was sending has not sent: half a body must never become an effect.
        content = self.rfile.read(size)
        if len(content) < size:
            raise CutShort
        return content
