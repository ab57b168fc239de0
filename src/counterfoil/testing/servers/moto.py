"""The PyPI package moto as a server: AWS services that boto3 reaches by one address. All it holds is in its memory."""

from counterfoil.testing.servers.started import Serving, Started, program

PACKAGE = "moto[server]"
REGION = "eu-west-1"
READY = "listening on "
SCRIPT = """
import threading
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
print("listening on", server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


class MotoServer(Serving):
    """The server, from construction until `close`. `url`: the `endpoint_url` of every client."""

    def __init__(self) -> None:
        python = program("moto_server", package=PACKAGE).parent / "python"
        self._started = Started("moto server", [str(python), "-c", SCRIPT])
        self.url: str = f"http://127.0.0.1:{self._started.wait_for(READY)}"
