"""How long a connection may take to say what it wants: whoever opens many and says nothing must not use up our files."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0  # from the connection, or from the first byte of its next request, to the end of the request's head
BODY_SECONDS = 60.0  # for all of a body
AT_ONCE = 500  # connections; each open page holds one. The worker beside us and the database need files as well


class Patient(H11Protocol):
    """HTTP/1.1 that closes a connection whose request does not begin in time."""

    _until: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The head of the first request must come in time."""
        super().connection_made(transport)
        self._waits()

    def data_received(self, data: bytes) -> None:
        """A part of a head begins the wait for the rest of it, and no further part prolongs it."""
        super().data_received(data)
        if self._is_idle():
            self._waits()
        else:
            self._heard()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._heard()
        super().connection_lost(exc)

    def _waits(self) -> None:
        if self._until is None:
            self._until = self.loop.call_later(HEAD_SECONDS, self._over)

    def _heard(self) -> None:
        if self._until is not None:
            self._until.cancel()
            self._until = None

    def _over(self) -> None:
        self._until = None
        if self._is_idle():
            self.transport.close()

    def _is_idle(self) -> bool:
        """No request is being answered: none came yet, or the last one is done with."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - before the first
