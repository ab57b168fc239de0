"""Whoever opens connections and says nothing is not waited for, so that the worker beside the console keeps its files."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from counterfoil.app import App
from counterfoil.console import patience
from counterfoil.console.asgi import asgi
from counterfoil.console.server import Serving, _configured, _Server

LIMIT_S = 20  # of the test, not of the server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(patience, "BODY_SECONDS", 0.3)


@asynccontextmanager
async def listening(folder: Path) -> AsyncGenerator[int]:
    """The console's own server in this process; its port."""
    ready = asyncio.Event()
    served = asgi(App("slow", db=str(folder / "none.db")))
    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = _Server(_configured(served, Serving()), ready.set)
        part = asyncio.create_task(server.serve(sockets=[sock]))
        await asyncio.wait_for(ready.wait(), LIMIT_S)
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            await asyncio.wait_for(part, LIMIT_S)


async def told(port: int, *parts: bytes) -> bytes:
    """All that the server says until it closes the connection. Each part is sent once a whole request before it was answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = b""
    try:
        async with asyncio.timeout(LIMIT_S):
            for part in parts:
                writer.write(part)
                if part.endswith(b"\r\n\r\n") and part.startswith(b"GET"):
                    said += await reader.readuntil(b'{"ok":true}')
            return said + await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("begun", [(), (b"GET / HT",), (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X: 1\r\n")])
def test_a_request_that_does_not_begin_is_not_waited_for(tmp_path: Path, begun: tuple[bytes, ...]) -> None:
    async def story() -> None:
        async with listening(tmp_path) as port:
            assert await told(port, *begun) == b""

    asyncio.run(story())


def test_the_next_request_of_a_connection_is_not_waited_for_either(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening(tmp_path) as port:
            said = await told(port, HEALTH, b"GET /hea")
            assert said.startswith(b"HTTP/1.1 200") and said.count(b"HTTP/1.1") == 1

    asyncio.run(story())


def test_a_body_that_does_not_come_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening(tmp_path) as port:
            head = (
                b"POST /api/v1/runs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
            )
            said = await told(port, head, b'{"workflow"')
            assert said.startswith(b"HTTP/1.1 408")
            assert b'"too_slow"' in said

    asyncio.run(story())
