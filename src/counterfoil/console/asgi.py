"""The console and the API as one ASGI application, served by `counterfoil serve` or mounted in a user's own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer

from counterfoil.app import App
from counterfoil.console import api, errors, health, pages, webhooks
from counterfoil.console.changes import Changes
from counterfoil.console.limits import Limits
from counterfoil.console.security import Guard
from counterfoil.console.state import Console

API = "/api/v1"
# For the description only: `console.signed_in` reads it, or the session's cookie.
TOKEN = HTTPBearer(scheme_name="token", description="A personal token, `cft_...`.", auto_error=False)


def asgi(
    app: App, *, worker: bool = False, development: bool = False, person: str | None = None, root_path: str = ""
) -> FastAPI:
    """`worker`: also drive runs, between the startup and the shutdown of the ASGI lifespan.

    Mounted below a path it finds its own addresses; a host that mounts it opens its lifespan only if it wants the worker.
    `development`: on loopback, `person` (or whoever is chosen on the sign-in page) acts without a secret.
    `root_path`: the prefix that a proxy in front of it cuts off.
    """
    health.check_metrics_setting()
    console = Console(app, Limits(app.clock.boot_us), Changes(app), development, person)
    served = FastAPI(
        title="Counterfoil", version="1", summary="The verbs of the command line over HTTP.", root_path=root_path,
        docs_url=None, redoc_url=None, openapi_url=f"{API}/openapi.json", redirect_slashes=False,
        lifespan=_lifespan(console, worker), separate_input_output_schemas=False,
    )  # fmt: skip
    served.state.console = console
    errors.add_to(served)
    served.include_router(health.router)
    served.include_router(webhooks.router)
    served.include_router(api.routes(), prefix=API, dependencies=[Security(TOKEN)])
    pages.add_to(served)
    served.add_middleware(Guard, console=console)
    return served


def _lifespan(console: Console, worker: bool) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncGenerator[None]:
        del served
        if not worker:
            yield
            return
        async with console.app.worker():
            yield

    return lifespan
