"""The PyPI package localstripe: a payment API that takes no key, and lists what carries our metadata. All in its memory.

Its own command listens on every interface and keeps what it holds in a file that all its starts share.
"""

from counterfoil.testing.servers.started import Serving, Started, program

PACKAGE = "localstripe"
KEY = "sk_test_counterfoil"  # it takes every key that begins with sk_test_
READY = "listening on "
SCRIPT = """
import asyncio
from aiohttp import web
from localstripe.resources import store
from localstripe.server import app
type(store).dump_to_disk = lambda self: None

async def serve():
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("listening on", runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


class LocalStripe(Serving):
    """The server, from construction until `close`."""

    def __init__(self) -> None:
        python = program("localstripe", package=PACKAGE).parent / "python"
        self._started = Started("localstripe", [str(python), "-c", SCRIPT])
        self.url: str = f"http://127.0.0.1:{self._started.wait_for(READY)}"
