"""A real development server of Temporal on 127.0.0.1, in memory, with our search attribute in its namespace `default`.

    server = shared()          one for this process
    server.address             as COUNTERFOIL_TEMPORAL_ADDRESS

The program is Temporal's own command line, as a wheel lays it beside this Python (requirements-dev.txt), or on the path.
"""

import atexit
import functools
import os
import signal

from counterfoil.examples.demo.temporal import program
from tests.servers.kept import Account, Kept, Server

READY = "Temporal Metrics"  # the last line that it prints when it has started


class TemporalServer(Server):
    """Call `start`, and `close` at the end."""

    def __init__(self) -> None:
        found = program()
        if found is None:
            raise FileNotFoundError("Temporal is not installed: `make set-up-dev` brings it. No test on it was run.")
        self._program = found
        super().__init__()
        self.who = Account()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it takes connections and knows its namespace."""
        self._kept = Kept(
            [
                *(self._program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self.port)),
                *("--log-level", "error", "--search-attribute", "CounterfoilRun=Keyword"),
            ],
            self.folder,
            self.who,
            end=signal.SIGTERM,
        )
        self._kept.wait_for(READY)


@functools.cache
def shared() -> TemporalServer:
    """The one server of this process. Ends with the process."""
    server = TemporalServer()
    server.start()
    owner = os.getpid()
    atexit.register(lambda: server.close() if os.getpid() == owner else None)  # a forked child does not own it
    return server
