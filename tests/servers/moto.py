"""A real moto server on 127.0.0.1, in memory: AWS services that boto3 reaches over HTTP, by one address."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.apart import program
from tests.servers.kept import Account, Kept, Server

READY = "Running on"


class MotoServer(Server):
    """Call `start`, and `close` at the end. Nothing of it is kept."""

    def __init__(self) -> None:
        self._program = program("moto_server")
        super().__init__()
        self.who = Account()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it takes requests."""
        command = [self._program, "--host", "127.0.0.1", "--port", str(self.port)]
        self._kept = Kept(command, self.folder, self.who, end=signal.SIGTERM)
        self._kept.wait_for(READY)


@contextmanager
def running() -> Iterator[MotoServer]:
    """One that takes requests, until the block ends."""
    with MotoServer() as server:
        server.start()
        yield server
