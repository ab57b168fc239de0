"""A real NATS server with JetStream on 127.0.0.1, its streams in the server's folder."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.apart import program
from tests.servers.kept import Account, Kept, Server

READY = "Server is ready"


class NatsServer(Server):
    """Call `start`, and `close` at the end. Started again it has the streams that it had."""

    def __init__(self) -> None:
        self._program = program("nats-server")
        super().__init__()
        self.who = Account()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it takes connections."""
        places = ["--addr", "127.0.0.1", "--port", str(self.port), "--store_dir", str(self.folder / "streams")]
        self._kept = Kept([self._program, *places, "--jetstream"], self.folder, self.who, end=signal.SIGTERM)
        self._kept.wait_for(READY)


@contextmanager
def running() -> Iterator[NatsServer]:
    """One that takes connections, until the block ends."""
    with NatsServer() as server:
        server.start()
        yield server
