"""A TCP relay before a server that speaks another protocol: it can lose what goes out, or what comes back, at a given message."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal

Fault = Literal["none", "lose-answer", "lose-request", "stall"]


class Relay:
    """Forwards bytes both ways. `arm` sets what happens at the first piece with these bytes from a client, once."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._fault: Fault = "none"
        self._at = b""
        self._nth = 1
        self.hit = threading.Event()
        self._silent = False
        self.unanswered = 0  # connections that were let in and never answered
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, fault: Fault, at: bytes, *, nth: int = 1) -> None:
        """What is lost: the server's answer to the nth such piece, or the piece itself. The connection goes with it."""
        self._at, self._nth, self._fault = at, nth, fault
        self.hit.clear()

    def cut(self) -> None:
        """Drop every connection."""
        while self._open:
            _close(self._open.pop())

    def silence(self) -> None:
        """As a host that drops packets: every connection ends, and a new one gets no answer."""
        self._silent = True
        self.cut()

    def shut(self) -> None:
        """Let nobody in any more; who is in stays."""
        _close(self._listener)

    def close(self) -> None:
        self.shut()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._silent:
                    self.unanswered += 1
                    self._open.append(client)
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._to))
                except OSError:  # the server is away; the relay stays for when it comes back
                    _close(client)
                    continue
                self._open += [client, server]
                losing = threading.Event()
                threading.Thread(target=self._outwards, args=(client, server, losing), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client, losing), daemon=True).start()

    def _outwards(self, client: socket.socket, server: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while piece := client.recv(65536):
                if self._fault != "none" and self._at in piece and self._is_it():
                    fault, self._fault = self._fault, "none"
                    if fault == "stall":  # as a client that is frozen in the middle of a long send
                        server.sendall(piece[: len(piece) // 2])
                        self.hit.set()
                        return
                    if fault == "lose-request":
                        _close(server)
                        _close(client)
                        self.hit.set()
                        return
                    losing.set()
                server.sendall(piece)
        _close(server)

    def _is_it(self) -> bool:
        self._nth -= 1
        return self._nth == 0

    def _back(self, server: socket.socket, client: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while piece := server.recv(65536):
                if losing.is_set():
                    _close(client)
                    _close(server)
                    self.hit.set()
                    return
                client.sendall(piece)
        _close(client)


@contextmanager
def relay(to: int) -> Generator[Relay]:
    """Before the server at this port of 127.0.0.1."""
    between = Relay(to)
    try:
        yield between
    finally:
        between.close()


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
