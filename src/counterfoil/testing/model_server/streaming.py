"""An answer in pieces: server-sent lines over one reply of unknown length, and what can go wrong in the middle of it."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence

from counterfoil.testing.loopback.exchange import Exchange
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault

CUT = "cut-stream"
ENDED = "end-stream"
"""As a gateway does whose own upstream went away: the stream ends in good form, in the middle of the answer."""
HELD = "hold-stream"
PIECE = 12
"""Characters of a piece: small, so that every answer has several."""


def in_pieces(text: str) -> Iterator[str]:
    """The text, a few characters at a time."""
    for at in range(0, len(text), PIECE):
        yield text[at : at + PIECE]


def server_sent(value: object, *, name: str | None = None) -> bytes:
    """One line of a stream, as the protocols send it."""
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def send_pieces(
    exchange: Exchange,
    pieces: Sequence[bytes],
    fault: Fault | None = None,
    released: threading.Event | None = None,
    halfway: Callable[[], object] = lambda: None,
) -> None:
    """Send them one by one. `halfway` is called before the rest is sent, held back or cut off."""
    exchange.send_response_only(200)
    exchange.send_header("content-type", "text/event-stream")
    exchange.send_header("transfer-encoding", "chunked")
    exchange.end_headers()
    middle = len(pieces) // 2
    _write(exchange, pieces[:middle])
    halfway()
    if fault is not None and fault.name == CUT:
        exchange.close_connection = True
        return
    if fault is not None and fault.name == ENDED:
        _end(exchange)
        return
    if fault is not None and fault.name == HELD and released is not None:
        released.wait(LONGEST_HOLD_SECONDS)
    _write(exchange, pieces[middle:])
    _end(exchange)


def _end(exchange: Exchange) -> None:
    exchange.wfile.write(b"0\r\n\r\n")
    exchange.wfile.flush()


def _write(exchange: Exchange, pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        exchange.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        exchange.wfile.flush()
