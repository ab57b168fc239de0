"""Serve on the loopback until standard input closes: a server cannot outlive the process that started it."""

import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from http.server import ThreadingHTTPServer

from counterfoil.testing.loopback.exchange import CONTROL, Exchange, Server


class LoopbackServer(ThreadingHTTPServer):
    """A server on 127.0.0.1 only. Port 0 takes any free port; OSError when the port is taken."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, stand_in: Server, port: int) -> None:
        super().__init__(("127.0.0.1", port), type("BoundExchange", (Exchange,), {"stand_in": stand_in}))

    @property
    def url(self) -> str:
        """The address to send to, without a trailing slash."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind without asking the name service, which the standard library does and which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the port it just had, after a restart
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what these servers are for; anything else is ours and is shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]


def serve_until_input_closes(server: LoopbackServer, ready: Mapping[str, object]) -> None:
    """Print one JSON line `{url, control_url, pid, ...ready}`, serve, and return once standard input has ended."""
    line = {"url": server.url, "control_url": server.url + CONTROL, "pid": os.getpid(), **ready}
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    serving.start()
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        while sys.stdin is not None and sys.stdin.buffer.read(4096):  # pyright: ignore[reportUnnecessaryComparison] - `<&-`
            pass
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # Ctrl-C in the terminal, or nobody reads the ready line: the same end as a closed input.
    finally:
        server.shutdown()
        server.server_close()
