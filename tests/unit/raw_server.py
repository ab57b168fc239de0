"""A scripted server on raw sockets, and a gate that writes down what happens."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from counterfoil.model.exchange import Exchange
from counterfoil.receivers.http import AttemptOver

Script = Callable[[socket.socket, bytes], None]


class Server:
    """Serves one connection after another in a thread; `requests` holds what each of them sent, as far as it was read."""

    def __init__(self, script: Script | None, *, read: bool = True) -> None:
        self._script, self._read = script, read
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                conversation, _ = self._listener.accept()
            except OSError:
                return
            with conversation, contextlib.suppress(OSError):
                conversation.settimeout(5)
                if self._read:
                    self.requests.append(whole_request(conversation))
                if self._script is not None:
                    self._script(conversation, self.requests[-1] if self._read else b"")

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


def whole_request(conversation: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = conversation.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while len(body) < sum(sizes):
        body += conversation.recv(65536)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def serving(script: Script | None, *, read: bool = True) -> Iterator[Server]:
    server = Server(script, read=read)
    try:
        yield server
    finally:
        server.close()


def says(*parts: bytes) -> Script:
    return lambda conversation, request: conversation.sendall(b"".join(parts))


def answer(status: int, body: bytes = b'{"id":"re_1"}', *headers: str) -> Script:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return says("\r\n".join(lines).encode() + b"\r\n\r\n", body)


class Watched:
    """A gate that writes down what happens, in order, and can forbid."""

    def __init__(self, *, forbid: str = "") -> None:
        self.story: list[str] = []
        self.digest = ""
        self.exchange: Exchange | None = None
        self._forbid = forbid

    async def before_send(self, request_digest: str) -> None:
        self.story.append("before_send")
        self.digest = request_digest
        if self._forbid == "before_send":
            raise AttemptOver("fence lost")

    def first_byte(self) -> None:
        self.story.append("first_byte")
        if self._forbid == "first_byte":
            raise AttemptOver("deadline")

    def replied(self, exchange: Exchange) -> None:
        self.story.append("replied")
        self.exchange = exchange
