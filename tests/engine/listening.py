"""A server on loopback that keeps what is posted to it: a person's address, or another system."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Listening:
    """`posts` are (path, headers, body) in their order. `statuses` are answered first, then 200.

    What is posted to `/silent` is never answered, and to `/endless` by a body that never ends.
    """

    port: int = 0
    posts: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bodies(self, path: str) -> list[Any]:
        return [json.loads(body) for where, _, body in self.posts if where.rstrip("/") == path]


@contextmanager
def listening() -> Iterator[Listening]:
    kept = Listening()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            kept.posts.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if self.path == "/silent":
                kept.over.wait()
                return
            self.send_response(kept.statuses.pop(0) if kept.statuses else 200)
            endless = self.path == "/endless"
            self.send_header("content-length", str(1 << 40) if endless else "0")
            self.end_headers()
            with suppress(OSError):
                while endless:
                    self.wfile.write(b"x" * 65536)

        def log_message(self, *said: Any) -> None:
            del said

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        kept.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
