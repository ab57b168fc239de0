"""The wire under one exchange: what left, how far it got, and a reply read within bounds."""

import json
import ssl
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import httpx2

from counterfoil.model.exchange import Reached

READ_LIMIT = 1024 * 1024  # bytes of a reply, also after decompression


class Wire:
    """What was seen of one exchange so far. `sent` turns True before the first byte can leave, never after."""

    def __init__(self, first_byte: Callable[[], None]) -> None:
        self._first_byte = first_byte
        self.reached: Reached = "nothing"
        self.sent = False
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        self.problem: str | None = None

    async def trace(self, name: str, info: Any) -> None:
        """The transport's own account. `send_request_headers.started` comes directly before its first write."""
        if name.endswith("connect_tcp.complete"):
            self.reached = "connected"
        elif name.endswith("send_request_headers.started"):
            self._first_byte()  # raises to keep the bytes here
            self.sent = True
        elif name.endswith("send_request_body.complete"):
            self.reached = "request"


@lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """One context for the process: loading the certificates takes longer than an exchange."""
    return httpx2.create_ssl_context(trust_env=False)


async def read_reply(client: httpx2.AsyncClient, request: httpx2.Request, wire: Wire) -> None:
    """Send, and read the whole reply into `wire`. Raises what the transport raises; `wire` keeps what was seen."""
    request.extensions = {**request.extensions, "trace": wire.trace}
    reply = await client.send(request, stream=True)
    try:
        wire.status, wire.reached = reply.status_code, "headers"
        wire.headers = {name.lower(): value for name, value in reply.headers.items()}
        raw = bytearray()
        async for chunk in reply.aiter_raw():
            raw += chunk[: READ_LIMIT + 1 - len(raw)]
            if len(raw) > READ_LIMIT:
                wire.body, wire.problem = bytes(raw[:READ_LIMIT]), f"the reply is larger than {READ_LIMIT} bytes"
                return
            wire.body = bytes(raw)
        wire.reached = "body"
        _decode(wire)
    finally:
        await reply.aclose()


def _decode(wire: Wire) -> None:
    encoding = wire.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        _decompress(wire, encoding)
    elif not _framed(wire) and not _is_json(wire.body):
        # Nothing says where this body ends: a cut one looks like a whole one. Only JSON shows its own end.
        wire.problem = "the reply does not say how long it is"


def _decompress(wire: Wire, encoding: str) -> None:
    """We asked for plain bytes. A reply compressed all the same is opened within the same bound, or not trusted."""
    if encoding not in ("gzip", "x-gzip", "deflate"):
        wire.problem = f"the reply is encoded as {encoding}"
        return
    opened = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        body = opened.decompress(wire.body, READ_LIMIT + 1)
    except zlib.error as problem:
        wire.problem = f"the reply cannot be decompressed: {problem}"
        return
    if len(body) > READ_LIMIT:
        wire.problem = f"the reply decompresses to more than {READ_LIMIT} bytes"
    elif not opened.eof:
        wire.problem = "the compressed reply is cut"
    else:
        wire.body = body


def _framed(wire: Wire) -> bool:
    return "content-length" in wire.headers or "transfer-encoding" in wire.headers or wire.status in (204, 304)


def _is_json(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), (dict, list))
    except (ValueError, RecursionError):
        return False
