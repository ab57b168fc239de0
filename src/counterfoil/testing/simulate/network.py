"""The network between the ledger and its receivers: requests that are late, lost, refused or answered in vain."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from counterfoil.testing.simulate.receiver import Receiver, Reply, Request, Work
from counterfoil.testing.simulate.world import Process, World, here

TRAVEL_S, WORK_S = 12.0, 4.0  # the longest of both: within what every contract here says of late arrival


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one write. Times in seconds; `fault` None: nothing special."""

    fault: str | None
    travel: float
    work: float
    back: float


@dataclass(frozen=True, slots=True)
class Departure:
    """A write that left. `checked_us`: when the sender looked at its deadline the last time; `left_us`: when the bytes left."""

    request: Request
    process: str
    checked_us: int
    left_us: int


class Network:
    """Carries requests, by fates that it draws. `departures` is what really left: nobody of the ledger writes it."""

    def __init__(self, world: World, receiver: Receiver) -> None:
        self.world = world
        self.receiver = receiver
        self.departures: list[Departure] = []
        self.breaches: dict[
            str, str
        ] = {}  # operation id: how its receiver, or its sender at the wire, broke what is promised
        self._chance = world.chance("network")

    async def exchange(self, process: Process, message: httpx2.Request) -> Reply:
        """One request and its answer, as the transport of a process sees it. Raises what a transport raises."""
        trace: Callable[[str, Any], Any] = message.extensions["trace"]
        request = _read(message)
        is_write = request.method != "GET"
        fate = self._fate(is_write)
        await self._wait(process, self._chance.random() * 0.01)
        if fate.fault == "unreachable":
            self.world.hit("unreachable")
            raise httpx2.ConnectError("connection refused")
        await trace("connection.connect_tcp.complete", {})
        await trace("http11.send_request_headers.started", {})
        checked_us = self.world.boot_us
        process.check()
        if is_write:
            await self._at_the_wire(process, request)
            self.departures.append(Departure(request, process.name, checked_us, self.world.boot_us))
            self.world.trace.note(
                process.name, f"sends {request.method} {request.path} {request.reference} {request.content}"
            )
        answer: asyncio.Future[Reply] = process.loop.create_future()
        self._carry(request, fate, lambda reply: self._answer(process, answer, reply))
        await trace("http11.send_request_body.complete", {})
        return await answer

    # ------------------------------------------------------------------ on the way

    def _carry(self, request: Request, fate: Fate, back: Callable[[Reply | None], None]) -> None:
        if fate.fault in ("lost", "late"):
            self.world.hit(fate.fault)
        if fate.fault != "lost":
            self.world.outside.loop.call_later(fate.travel, self._arrives, request, fate, back)

    def _arrives(self, request: Request, fate: Fate, back: Callable[[Reply | None], None]) -> None:
        world = self.world
        world.trace.note("receiver", f"gets {request.method} {request.path} {request.key}")
        if request.method == "GET":
            begun: Reply | Work = self.receiver.look(request, world.boot_us)
        elif fate.fault == "busy":
            world.hit("busy")
            begun = Reply(503, {"error": "try later"})
        else:
            begun = self.receiver.begin(request, world.boot_us)
        if isinstance(begun, Reply):
            self._answers(request, begun, fate, back)
        else:
            work = begun
            world.outside.loop.call_later(
                fate.work, lambda: self._answers(request, self._ended(work, fate), fate, back)
            )

    def _answers(self, request: Request, reply: Reply, fate: Fate, back: Callable[[Reply | None], None]) -> None:
        self.world.trace.note("receiver", f"answers {reply.status} {reply.replayed} to {request.path} {request.key}")
        if fate.fault in ("drop-reply", "hang"):
            self.world.hit(fate.fault)
        if fate.fault != "hang":
            self.world.outside.loop.call_later(fate.back, back, None if fate.fault == "drop-reply" else reply)

    def _ended(self, work: Work, fate: Fate) -> Reply:
        now = self.world.boot_us
        if fate.fault == "refuse":
            self.world.hit("refuse")
            return self.receiver.end(work, now, status=422)
        if fate.fault == "error-after-accept":
            self.world.hit("error-after-accept")
            return self.receiver.end(work, now, status=500)
        if fate.fault == "doubled":
            self.world.hit("doubled")
            self.breaches[work.request.reference] = "the receiver made two records of one request"
            return self.receiver.end(work, now, copies=2)
        return self.receiver.end(work, now)

    def _answer(self, process: Process, answer: "asyncio.Future[Reply]", reply: Reply | None) -> None:
        def give() -> None:
            if answer.done():
                return
            if reply is None:
                answer.set_exception(httpx2.ReadError("the connection was closed before the answer"))
            else:
                answer.set_result(reply)

        if process.alive:
            process.loop.call_soon(give)

    async def _at_the_wire(self, process: Process, request: Request) -> None:
        """The sender has looked at its deadline, and is frozen before the bytes leave."""
        if self._chance.random() >= self.world.chance_of("freeze-at-the-wire"):
            return
        self.world.hit("freeze-at-the-wire")
        seconds = self._chance.choice((5.0, 30.0, 120.0, 400.0))
        if seconds > 25.0:
            self.breaches[request.reference] = "its sender was frozen at the wire for longer than the protection lasts"
        process.freeze(seconds)
        await self._wait(process, 0.0)

    async def _wait(self, process: Process, seconds: float) -> None:
        passed: asyncio.Future[None] = process.loop.create_future()
        process.loop.call_later(seconds, lambda: passed.done() or passed.set_result(None))
        await passed
        process.check()

    def _fate(self, is_write: bool) -> Fate:
        chance, fault = self._chance, self._fault(is_write)
        travel, work, back = chance.random() * 0.2, chance.random() * 0.3, chance.random() * 0.2
        if fault == "late":
            travel = chance.uniform(2.0, TRAVEL_S)
        elif fault == "slow":
            self.world.hit("slow")
            work = chance.uniform(1.0, WORK_S)
        return Fate(fault, travel, work, back)

    def _fault(self, is_write: bool) -> str | None:
        known = WRITE_FAULTS if is_write else READ_FAULTS
        drawn = self._chance.random()
        for name in known:
            drawn -= self.world.chance_of(name)
            if drawn < 0:
                return name
        return None


WRITE_FAULTS = (
    "unreachable", "lost", "late", "slow", "busy", "refuse", "error-after-accept", "drop-reply", "hang", "doubled",
)  # fmt: skip
READ_FAULTS = ("unreachable", "lost", "slow", "drop-reply")


class Transport(httpx2.AsyncBaseTransport):
    """What `receivers/http.py` sends through in a simulated process."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._network.exchange(here(), request)
        content = json.dumps(reply.body).encode()
        headers = {"content-type": "application/json", "content-length": str(len(content))}
        if reply.replayed:
            headers["idempotent-replayed"] = "true"
        return httpx2.Response(reply.status, headers=headers, stream=httpx2.ByteStream(content))


def client_through(network: Network) -> Callable[[float], httpx2.AsyncClient]:
    """Stands in for the function that makes the client of one attempt."""

    def client(timeout_s: float) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=Transport(network), timeout=timeout_s, trust_env=False)

    return client


def _read(message: httpx2.Request) -> Request:
    body: dict[str, Any] = json.loads(message.content) if message.content else {}
    return Request(
        method=message.method,
        path=message.url.path,
        key=message.headers.get("idempotency-key"),
        reference=message.headers.get("counterfoil-operation", ""),
        body=body,
        params=dict(message.url.params),
    )
