"""A loopback proxy before receivers that are not ours: counts writes, and loses, delays or replaces their replies.

`python -m counterfoil.testing.proxy --to URL [--fault F[:COUNT]] [--port 0]`; `ProxyProcess` starts it as a child.
"""

import argparse
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from urllib.parse import SplitResult, urlsplit

from counterfoil.testing.loopback.digest import as_object, parse_json
from counterfoil.testing.loopback.exchange import Exchange, Reply, Request, error_reply, refusal
from counterfoil.testing.loopback.faults import LONGEST_HOLD_SECONDS, Fault, Faults
from counterfoil.testing.loopback.process import LoopbackProcess
from counterfoil.testing.loopback.serving import LoopbackServer, serve_until_input_closes
from counterfoil.testing.loopback.stand_in import QUEUED, Body, StandIn
from counterfoil.testing.sandbox.writes import DEFAULT_KEY_HEADER, REFERENCE_HEADER, Write, read_write

NOT_FORWARDED: dict[str, Callable[[Fault], Reply]] = {
    "refuse": refusal,
    "error-before-accept": lambda fault: error_reply(503, "unavailable", "nothing was accepted"),
}
FAULTS = frozenset({"drop-reply", "slow", "hang", "garbage", "error-after-accept", QUEUED, *NOT_FORWARDED})
HIDDEN = error_reply(500, "internal", "something failed after the request was accepted")
SHOWN_BYTES = 64 * 1024  # of a write's body, in the log
HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "host",
    }
)


class Proxy(StandIn):
    """One upstream behind a proxy. ValueError when `to` is not an http address."""

    def __init__(self, to: str, faults: Faults, key_header: str = DEFAULT_KEY_HEADER) -> None:
        super().__init__(faults)
        self._key_header = key_header
        place = urlsplit(to)
        if place.scheme not in {"http", "https"} or not place.hostname:
            raise ValueError(f"--to takes an http or https address, not {to!r}")
        self._to: SplitResult = place

    def serve(self, exchange: Exchange, request: Request) -> None:
        """Forward a request, unless its fault says otherwise, and deliver what its fault leaves of the reply."""
        n = self.traffic.count("requests" if request.is_write else "lookups")
        fault = (self.queue() or self.faults.take()) if request.is_write else None
        reply = self._reply(request, fault)
        if request.is_write:
            self._note(n, request, fault, reply)
            self.traffic.count("decided")
        exchange.hold(fault)
        exchange.deliver(HIDDEN if fault is not None and fault.name == "error-after-accept" else reply, fault)

    def state(self) -> Body:
        """The counters; `records` is null, because only the receiver knows them."""
        return {"records": None, **self.counts("requests", "forwarded", "lookups")}

    def views(self) -> Mapping[str, Callable[[], object]]:
        """Also `records`."""
        return {**super().views(), "records": self.state}

    def _reply(self, request: Request, fault: Fault | None) -> Reply:
        refused = self.refused_read(request)
        if refused is not None:
            return refused
        if fault is not None and fault.name in NOT_FORWARDED:
            return NOT_FORWARDED[fault.name](fault)
        if request.is_write:
            self.traffic.count("forwarded")
        try:
            return self._forward(request)
        except (OSError, HTTPException) as reason:
            return error_reply(502, "upstream_failed", f"{self._to.geturl()} gave no answer: {type(reason).__name__}")

    def _forward(self, request: Request) -> Reply:
        upstream = _connect(self._to)
        try:
            target = self._to.path.rstrip("/") + request.target
            upstream.putrequest(request.method, target, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name not in HOP_BY_HOP:
                    upstream.putheader(name, value)
            if request.body or request.is_write:
                upstream.putheader("content-length", str(len(request.body)))
            upstream.endheaders(request.body or None)
            response = upstream.getresponse()
            headers = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
            return Reply(response.status, headers=headers, content=response.read())
        finally:
            upstream.close()

    def _note(self, n: int, request: Request, fault: Fault | None, reply: Reply) -> None:
        write = self._understood(request)
        self.traffic.note(
            {
                "n": n,
                "method": request.method,
                "path": request.path,
                "key": request.headers.get(self._key_header.lower()),
                "reference": request.headers.get(REFERENCE_HEADER) if write is None else write.reference,
                "payload_digest": None if write is None else write.digest,
                "payload": None if write is None or len(request.body) > SHOWN_BYTES else write.payload,
                "fault": None if fault is None else fault.name,
                "forwarded": fault is None or fault.name not in NOT_FORWARDED,
                "status": reply.status,
                "record_id": _id_in(reply),
                "replayed": reply.headers.get("idempotent-replayed") == "true",
            }
        )

    def _understood(self, request: Request) -> Write | None:
        """The write, if its body is JSON or a form; other bodies go through all the same."""
        try:
            return read_write(request, self._key_header)
        except ValueError:
            return None


class ProxyProcess(LoopbackProcess):
    """The proxy as a child process. LoopbackFailed when it cannot start."""

    module = "counterfoil.testing.proxy"

    def __init__(
        self, to: str, *, fault: str | None = None, port: int = 0, key_header: str = DEFAULT_KEY_HEADER
    ) -> None:
        armed = [] if fault is None else ["--fault", fault]
        super().__init__(["--to", to, "--port", str(port), "--key-header", key_header, *armed])


def serve(to: str, *, fault: str | None = None, port: int = 0, key_header: str = DEFAULT_KEY_HEADER) -> None:
    """Serve until standard input closes, after one JSON line {url, control_url, pid, records_file: null, to} on stdout.

    ValueError for an address or a fault that does not fit; OSError for a taken port.
    """
    faults = Faults(FAULTS)
    if fault is not None:
        faults.arm_text(fault)
    server = LoopbackServer(Proxy(to, faults, key_header), port)
    serve_until_input_closes(server, {"records_file": None, "to": to})


def main() -> None:
    """Read the arguments and serve. Exit status 2, with one sentence, for arguments that do not fit."""
    parser = argparse.ArgumentParser(
        prog="python -m counterfoil.testing.proxy", description="A proxy that loses replies."
    )
    parser.add_argument("--to", required=True, metavar="URL")
    parser.add_argument("--fault", metavar="F[:COUNT]")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key-header", default=DEFAULT_KEY_HEADER, metavar="NAME")
    chosen = parser.parse_args()
    try:
        serve(chosen.to, fault=chosen.fault, port=chosen.port, key_header=chosen.key_header)
    except (ValueError, OSError, OverflowError) as reason:
        parser.error(str(reason))


def _id_in(reply: Reply) -> str | None:
    """How an accepted write's answer names what was made, if it is JSON with an `id`."""
    if not 200 <= reply.status < 300:
        return None
    try:
        found = as_object(parse_json(reply.encoded())).get("id")
    except ValueError:
        return None
    return str(found) if isinstance(found, str | int) else None


def _connect(place: SplitResult) -> HTTPConnection:
    if place.scheme == "http":
        return HTTPConnection(place.hostname or "", place.port, timeout=LONGEST_HOLD_SECONDS)
    from http.client import HTTPSConnection  # Only here, so that a plain proxy starts without the TLS library.

    return HTTPSConnection(place.hostname or "", place.port, timeout=LONGEST_HOLD_SECONDS)


if __name__ == "__main__":
    main()
