"""A run's entries as they are committed. A connection that breaks is taken up where it was cut."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx2

from counterfoil.client.calls import Calls, error_from, no_answer, part
from counterfoil.client.shapes.base import RefusalAnswer
from counterfoil.client.shapes.run import Entry
from counterfoil.engine.clock import Clock

SILENT_S = 40.0  # the console says something every 15 s
PAUSES_US = (250_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
STATUS_OK = 200


@dataclass(slots=True)
class _Message:
    """One server-sent message."""

    kind: str = ""
    id: str = ""
    data: list[str] = field(default_factory=lambda: [])


class Entries:
    """Follows one run from after the sequence `after`. `patience_s`: how long the console may be out of reach at a stretch."""

    def __init__(self, calls: Calls, run: str, after: int | None, patience_s: float, clock: Clock) -> None:
        self._calls, self._run, self._after = calls, run, after
        self._patience_us, self._clock = int(patience_s * 1_000_000), clock

    async def each(self) -> AsyncIterator[Entry]:
        """Until the run ended. Raises what the console refuses with, and no_answer when patience is over."""
        silent_since, failures = self._clock.now_us(), 0
        while True:
            try:
                async with self._opened() as response:
                    async for message in _messages(response):
                        silent_since, failures = self._clock.now_us(), 0
                        if message.kind == "end":
                            return
                        if message.kind == "refused":
                            raise error_from(RefusalAnswer.model_validate_json("\n".join(message.data)))
                        if message.kind == "entry":
                            entry = Entry.model_validate_json("\n".join(message.data))
                            self._after = entry.sequence
                            yield entry
            except httpx2.TransportError as problem:
                if self._clock.now_us() - silent_since >= self._patience_us:
                    raise no_answer(self._calls.url, problem) from problem
            # Cut, or the console drains: it may be back at once, or take a while to start.
            pause_us = PAUSES_US[min(failures, len(PAUSES_US) - 1)]
            failures += 1
            await self._clock.wait(asyncio.Event(), self._clock.now_us() + pause_us)

    def _opened(self) -> "_Opened":
        headers = {"Accept": "text/event-stream"}
        if self._after is not None:
            headers["Last-Event-ID"] = str(self._after)
        return _Opened(self._calls, f"/runs/{part(self._run)}/entries", headers)


class _Opened:
    """A response whose body is still coming."""

    def __init__(self, calls: Calls, path: str, headers: dict[str, str]) -> None:
        self._calls = calls
        timeout = httpx2.Timeout(SILENT_S)
        self._streaming = calls.http.stream("GET", path, headers=headers, timeout=timeout)

    async def __aenter__(self) -> httpx2.Response:
        response = await self._streaming.__aenter__()
        if response.status_code != STATUS_OK:
            try:
                self._calls.data_of(response.status_code, await response.aread())
            finally:
                await self._streaming.__aexit__(None, None, None)
        return response

    async def __aexit__(self, *ended: object) -> None:
        await self._streaming.__aexit__(None, None, None)


async def _messages(response: httpx2.Response) -> AsyncIterator[_Message]:
    message = _Message()
    async for line in response.aiter_lines():
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "" if not line:
                if message.data:
                    yield message
                message = _Message()
            case "event":
                message.kind = value
            case "id":
                message.id = value
            case "data":
                message.data.append(value)
            case _:
                pass
