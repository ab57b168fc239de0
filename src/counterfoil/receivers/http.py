"""One attempt over HTTP: one write, frozen bytes, our key; and reading for lookups. This layer alone proves "never left"."""

import asyncio
import hashlib
import json as jsonlib
from collections.abc import Mapping
from typing import Any, Protocol, TypedDict, Unpack

import httpx2

from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.contract_parts import Carrier
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import ATTEMPT_OVER, NOT_ENDED, STOPPED, Exchange, Reached
from counterfoil.receivers.carriers import at_version, filled, placed, same_version
from counterfoil.receivers.hiding import hidden, hidden_bytes, secrets_of
from counterfoil.receivers.wire import Wire, read_reply, tls
from counterfoil.rules.classify import classify, replayed

_ASK_LATER = frozenset({408, 425, 429})


class AttemptOver(BaseException):
    """Ends the user's function: this attempt has no applied reply. Not an Exception, so that no tool swallows it.

    `exchange` is None when nothing was tried; `meaning` None when nothing was classified.
    """

    def __init__(self, reason: str = "", *, exchange: Exchange | None = None, meaning: Meaning | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.exchange = exchange
        self.meaning = meaning


class LookupUnreachable(Exception):
    """The receiver could not be asked: no answer, a broken one, or one that says so. It proves nothing."""


class Gate(Protocol):
    """The engine's side of one attempt."""

    async def before_send(self, request_digest: str) -> None:
        """Commit the in-flight record. Raises AttemptOver when the request may not be sent."""
        ...

    def first_byte(self) -> None:
        """Called directly before the first byte may leave. Raises AttemptOver to prevent it."""
        ...

    def replied(self, exchange: Exchange) -> None:
        """Called when a reply is read, before anything else happens with it."""
        ...


class Parts(TypedDict, total=False):
    """What a write may carry: one of json, data (a form) and content; and params and headers."""

    json: Any
    data: Mapping[str, Any] | None
    content: bytes | str | None
    params: Mapping[str, Any] | None
    headers: Mapping[str, str] | None


class Reply:
    """A reply: `status`, `headers` (lower-case names), `content` (decoded bytes), `text`."""

    __slots__ = ("content", "headers", "status")

    def __init__(self, exchange: Exchange) -> None:
        self.status = exchange.status or 0
        self.headers: Mapping[str, str] = dict(exchange.headers)
        self.content = exchange.body

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none is replaced."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON. Raises ValueError if it is none."""
        return jsonlib.loads(self.content)


class Sender:
    """`call.http`: adds key, reference and credential. Exactly one write; `get` reads, without a key, and is no write.

    `exchange` holds what was seen of the write, also after it ended without a usable reply.
    """

    def __init__(
        self,
        *,
        url: str,
        headers: Mapping[str, str],
        key: str | None,
        operation_id: str,
        contract: Contract,
        gate: Gate,
        timeout_s: float,
    ) -> None:
        self._url = url
        self._credential = headers
        self._secrets = secrets_of(headers)
        self._contract = contract
        self._gate = gate
        self._timeout = timeout_s
        self._stamps: list[tuple[Carrier, str]] = []
        if contract.key is not None and key is not None:
            self._stamps.append((contract.key, key))
        if contract.reference is not None:
            self._stamps.append((contract.reference, operation_id))
        if contract.version is not None and not contract.version.path:
            self._stamps.append((contract.version, contract.api_version))
        self._wrote = False
        self._shut = False
        self.exchange: Exchange | None = None

    @property
    def url(self) -> str:
        """The receiver's address, for an SDK that sends by itself."""
        return self._url

    def shut(self) -> None:
        """No first byte leaves after this. For the end of the tool's function, should it have left a write running."""
        self._shut = True

    def _first_byte(self) -> None:
        if self._shut:
            raise AttemptOver(ATTEMPT_OVER)
        self._gate.first_byte()

    async def post(self, path: str, **parts: Unpack[Parts]) -> Reply:
        """One write. Parts: json, data, content, params, headers. Returns only a reply that the contract calls applied.

        Raises AttemptOver for every other end, Refused(outside_operation) for a second write or another host.
        """
        return await self._write("POST", path, **parts)

    async def put(self, path: str, **parts: Unpack[Parts]) -> Reply:
        """As `post`."""
        return await self._write("PUT", path, **parts)

    async def patch(self, path: str, **parts: Unpack[Parts]) -> Reply:
        """As `post`."""
        return await self._write("PATCH", path, **parts)

    async def delete(self, path: str, **parts: Unpack[Parts]) -> Reply:
        """As `post`."""
        return await self._write("DELETE", path, **parts)

    async def get(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """A read. Raises LookupUnreachable."""
        stamped = at_version(self._contract, params, headers)
        return await _read(self._url, path, *stamped, self._credential, self._timeout)

    async def _write(self, method: str, path: str, **parts: Unpack[Parts]) -> Reply:
        if self._wrote:
            raise Refused("outside_operation", problem="this attempt has made its one write already")
        self._wrote = True
        async with _client(self._timeout) as client:
            request = self._frozen(client, method, path, parts)
            digest = self._digest(request)
            await self._gate.before_send(digest)
            # From here on an end without a result is a doubt: who looks before the write has ended must not see "nothing".
            self.exchange = Exchange("nothing", True, problem=NOT_ENDED, request_digest=digest)
            self.exchange = await self._exchange(client, request, digest)
        meaning = classify(self._contract, self.exchange)
        if meaning is not Meaning.APPLIED:
            raise AttemptOver(self.exchange.problem or f"answered {meaning}", exchange=self.exchange, meaning=meaning)
        return Reply(self.exchange)

    def _frozen(self, client: httpx2.AsyncClient, method: str, path: str, parts: Parts) -> httpx2.Request:
        """The request with all its bytes fixed: what is digested is what leaves."""
        json, data, content = parts.get("json"), parts.get("data"), parts.get("content")
        head = {
            name.lower(): value for name, value in (parts.get("headers") or {}).items() if name.lower() not in _FRAME
        }
        query = dict(parts.get("params") or {})
        same_version(self._contract, _joined(self._url, path), head, query, data if json is None else json)
        for carrier, value in self._stamps:
            if carrier.header:
                head[carrier.header.lower()] = filled(head.get(carrier.header.lower()), value)
            elif carrier.query:
                query[carrier.query] = filled(query.get(carrier.query), value)
            elif carrier.path:
                path = placed(path, carrier.path, value)
            else:
                json, data = _stamped(json, data, carrier.body or "", value)
        head |= {name.lower(): value for name, value in self._credential.items()}  # ours, whatever the tool gave
        head |= _FIXED
        if json is not None:
            content = jsonlib.dumps(json, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
            head.setdefault("content-type", "application/json")
        url = _joined(self._url, path)
        return client.build_request(method, url, params=query or None, headers=head, content=content, data=data)

    def _digest(self, request: httpx2.Request) -> str:
        """Over method, target, body and the headers that carry meaning. Credentials are left out: they are scope."""
        ours = [carrier.header.lower() for carrier, _ in self._stamps if carrier.header]
        lines = [request.method, request.url.raw_path.decode("ascii")]
        lines += [f"{name}: {request.headers.get(name, '')}" for name in sorted({"content-type", *ours})]
        return "sha256:" + hashlib.sha256("\n".join(lines).encode() + b"\n\n" + request.content).hexdigest()

    async def _exchange(self, client: httpx2.AsyncClient, request: httpx2.Request, digest: str) -> Exchange:
        wire = Wire(self._first_byte)
        try:
            async with asyncio.timeout(self._timeout):
                await read_reply(client, request, wire)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError, TimeoutError) as problem:
            wire.problem = f"{type(problem).__name__}: {problem}".rstrip(": ")
        except AttemptOver as over:
            # The gate forbade the first byte: nothing left.
            self.exchange = over.exchange = self._seen(wire, digest, problem=over.reason or "not sent")
            over.meaning = classify(self._contract, self.exchange)
            raise
        except BaseException as stopped:
            self.exchange = self._seen(wire, digest, problem=f"{STOPPED}{type(stopped).__name__}")
            raise
        exchange = self._seen(wire, digest, problem=wire.problem)
        if exchange.status is not None:
            self._gate.replied(exchange)
        return exchange

    def _seen(self, wire: Wire, digest: str, *, problem: str | None) -> Exchange:
        headers = {name: hidden(value, self._secrets) for name, value in wire.headers.items()}
        body = hidden_bytes(wire.body, self._secrets)
        mark = replayed(self._contract, headers, body) if wire.status is not None else None
        reached: Reached = wire.reached
        said = None if problem is None else hidden(problem, self._secrets)
        return Exchange(reached, wire.sent, wire.status, headers, body, said, digest, mark)


class Reader:
    """`ask.http`: reading for a lookup, at the API version that the contract is about."""

    def __init__(
        self, *, url: str, headers: Mapping[str, str], timeout_s: float, contract: Contract | None = None
    ) -> None:
        self._url = url
        self._contract = contract
        self._headers = headers
        self._timeout = timeout_s

    @property
    def url(self) -> str:
        """The receiver's address, for an SDK that asks by itself."""
        return self._url

    async def get(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """A read. Raises LookupUnreachable when the receiver could not say: no whole answer, a redirect, 5xx, too many requests."""
        stamped = at_version(self._contract, params, headers)
        return await _read(self._url, path, *stamped, self._headers, self._timeout)


_FRAME = frozenset(
    {"host", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer"}
)  # the transport's own
_FIXED = {"accept-encoding": "identity", "connection": "close"}


def _client(timeout_s: float) -> httpx2.AsyncClient:
    # A client for one attempt: no pool from which a stale connection could eat the request, no redirect that would send
    # it twice, no retry, no proxy from the environment.
    return httpx2.AsyncClient(
        verify=tls(), timeout=timeout_s, follow_redirects=False, trust_env=False, http1=True, http2=False
    )


def _joined(base: str, path: str) -> str:
    if "://" in path or path.startswith("//") or "\\" in path:
        raise Refused("outside_operation", problem=f"{path!r} leaves the receiver")
    return f"{base.rstrip('/')}/{path.lstrip('/')}"


def _stamped(json: Any, data: Mapping[str, Any] | None, path: str, value: str) -> tuple[Any, Mapping[str, Any] | None]:
    if data is not None:
        return json, {**data, path: filled(data.get(path), value)}
    body: dict[str, Any] = dict(json or {})
    place = body
    *holders, last = path.split(".")
    for name in holders:
        place[name] = dict(place.get(name) or {})
        place = place[name]
    place[last] = filled(place.get(last), value)
    return body, None


async def _read(
    base: str,
    path: str,
    params: Mapping[str, Any] | None,
    headers: Mapping[str, str],
    credential: Mapping[str, str],
    timeout_s: float,
) -> Reply:
    wire, secrets = Wire(lambda: None), secrets_of(credential)
    names = {name.lower() for name in credential}
    head = {name: value for name, value in headers.items() if name.lower() not in names} | {**credential, **_FIXED}
    async with _client(timeout_s) as client:
        request = client.build_request("GET", _joined(base, path), params=params, headers=head)
        try:
            async with asyncio.timeout(timeout_s):
                await read_reply(client, request, wire)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError, TimeoutError) as problem:
            said = hidden(f"{type(problem).__name__}: {problem}".rstrip(": "), secrets)
            raise LookupUnreachable(said) from None  # the transport's own words may quote the credential
    if wire.problem is not None:
        raise LookupUnreachable(wire.problem)
    status = wire.status or 0
    if status >= 500 or 300 <= status < 400 or status in _ASK_LATER:
        raise LookupUnreachable(f"the receiver answered {status}")
    seen = {name: hidden(value, secrets) for name, value in wire.headers.items()}
    return Reply(Exchange(wire.reached, True, wire.status, seen, hidden_bytes(wire.body, secrets)))
