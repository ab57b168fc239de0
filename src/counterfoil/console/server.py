"""The console's own server: one process, one event loop, worker and console beside each other, both drained when it is told."""

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from counterfoil.app import App
from counterfoil.app.duties.beside import duties_beside
from counterfoil.console.addresses import is_loopback
from counterfoil.console.asgi import asgi
from counterfoil.console.patience import AT_ONCE, Patient
from counterfoil.engine.worker import Worker
from counterfoil.model.errors import Refused

GRACE_S = 10  # how long an answer that is under way may take once the server was told to end
WAITING = 256  # connections that the system holds while we are busy


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and what is served. `proxies`: addresses whose `X-Forwarded-*` headers are believed."""

    host: str = "127.0.0.1"
    port: int = 8765
    development: bool = False
    person: str | None = None
    proxies: Sequence[str] = ()


async def serve(app: App, serving: Serving, worker: Worker | None, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; the second one ends the process at once. `ready` is told the address.

    Raises Refused(usage): the address cannot be listened on, or development mode away from loopback.
    """
    if serving.development and not is_loopback(serving.host):
        raise Refused("usage", problem=f"development mode is for loopback only, and {serving.host} is not")
    listening = _listening(serving)
    served = asgi(app, development=serving.development, person=serving.person)
    server = _Server(_configured(served, serving), lambda: ready(_url(serving.host, listening)))

    def stop() -> None:
        server.should_exit = True
        served.state.console.closing.set()
        if worker is not None:
            worker.stop()

    async with duties_beside(app):
        _listen_for_signals(stop)
        parts = [asyncio.create_task(server.serve(sockets=[listening]))]
        if worker is not None:
            parts.append(asyncio.create_task(worker.run()))
        await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        stop()  # one of the two without the other would look well from outside
    await asyncio.gather(*parts)


class _Server(uvicorn.Server):
    """Without handlers of its own: the worker beside it must hear the same signals."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


def _configured(served: FastAPI, serving: Serving) -> uvicorn.Config:
    return uvicorn.Config(
        served, lifespan="on", log_config=None, log_level="critical", access_log=False,  # `security` and `errors` log
        server_header=False, date_header=True,
        proxy_headers=bool(serving.proxies), forwarded_allow_ips=list(serving.proxies), ws="none",
        http=Patient, limit_concurrency=AT_ONCE, timeout_graceful_shutdown=GRACE_S, timeout_keep_alive=75,
    )  # fmt: skip


def _listening(serving: Serving) -> socket.socket:
    try:
        family = socket.getaddrinfo(serving.host, serving.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((serving.host, serving.port), family=family, backlog=WAITING)
    except (OSError, UnicodeError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise Refused("usage", problem=f"{serving.host}:{serving.port} cannot be listened on: {said}") from problem


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen_for_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    both = (signal.SIGTERM, signal.SIGINT)

    def told() -> None:
        for number in both:
            loop.remove_signal_handler(number)  # the second one is not asked to wait
        stop()

    for number in both:
        loop.add_signal_handler(number, told)
