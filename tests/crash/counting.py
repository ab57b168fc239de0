"""A receiver that counts what it has in hand at once, and notes when each request came."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from counterfoil.engine.clock import SystemClock

HOLD_S = 0.3  # a request is in hand so long, unless more are there than may be


@dataclass(frozen=True, slots=True)
class Came:
    """One request: what it was for, and when it came, in microseconds."""

    path: str
    number: str
    at: int


class Counting:
    """`most`: by path or by (path, customer), how many were in hand at once. `limits`: more than so many need not be waited for.

    The first request to `asking` is answered 429 with Retry-After, at `asked_at`.
    """

    def __init__(self, limits: dict[str, int], retry_after_s: int) -> None:
        self.came: list[Came] = []
        self.most: Counter[Any] = Counter()
        self.asked_at: int | None = None
        self._limits = limits
        self._retry_after_s = retry_after_s
        self._inside: Counter[Any] = Counter()
        self._moved = threading.Condition()

    def take(self, path: str, asked: dict[str, Any]) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer."""
        keys = (path, (path, asked["customer"]))
        with self._moved:
            self.came.append(Came(path, asked["number"], SystemClock().now_us()))
            if path == "asking" and self.asked_at is None:
                self.asked_at = SystemClock().now_us()
                return 429, {"Retry-After": str(self._retry_after_s)}
            for key in keys:
                self._inside[key] += 1
                self.most[key] = max(self.most[key], self._inside[key])
            self._moved.notify_all()
            if path in self._limits:
                self._moved.wait_for(lambda: self._inside[path] > self._limits[path], HOLD_S)
            for key in keys:
                self._inside[key] -= 1
        return 201, {}


@contextmanager
def counting(limits: dict[str, int], *, retry_after_s: int) -> Iterator[tuple[Counting, str]]:
    """The receiver, and its address, while the block is open."""
    counted = Counting(limits, retry_after_s)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers = counted.take(self.path.removeprefix("/"), asked)
            body = json.dumps({"id": asked["number"]}).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield counted, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
