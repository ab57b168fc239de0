"""A real localstripe on 127.0.0.1, in memory: a payment API that takes no key and finds by metadata.

Its own command listens on every interface and keeps what it holds in a file that all its starts share, so it is started without.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.apart import program
from tests.servers.kept import Account, Kept, Server

READY = "Running on"
STARTED = """
import sys
from aiohttp import web
from localstripe.resources import store
from localstripe.server import app
type(store).dump_to_disk = lambda self: None
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]))
"""


class LocalStripeServer(Server):
    """Call `start`, and `close` at the end. Every secret key that begins with `sk_test_` is taken."""

    def __init__(self) -> None:
        program("localstripe")
        self._python = program("python")
        super().__init__()
        self.who = Account()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it takes requests. What it held before is gone."""
        command = [self._python, "-u", "-c", STARTED, str(self.port)]
        self._kept = Kept(command, self.folder, self.who, end=signal.SIGTERM)
        self._kept.wait_for(READY)


@contextmanager
def running() -> Iterator[LocalStripeServer]:
    """One that takes requests, until the block ends."""
    with LocalStripeServer() as server:
        server.start()
        yield server
