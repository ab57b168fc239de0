"""`counterfoil serve`."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Group
from counterfoil.cli.envelope import success, text_of
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.worker import nothing
from counterfoil.model.errors import CounterfoilError, Refused

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.console.server import Serving
    from counterfoil.engine.isolation import Isolate

DEFECT = 70
INSTALL = "Install it: `pip install 'counterfoil[console]'`."


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("serve", data="{url, pid}", shows=nothing, also=(DEFECT,))
    def serve(
        invocation: Invocation,
        host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
        port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
        no_worker: Annotated[
            bool, typer.Option("--no-worker", help="Drive no runs here; a worker elsewhere does.")
        ] = False,
        development: Annotated[
            bool, typer.Option("--development", help="Nobody needs a secret. On loopback only.")
        ] = False,
        person: Annotated[
            str | None, typer.Option("--as", metavar="PERSON", help="With --development: who is signed in.")
        ] = None,
    ) -> Any:
        """Serve the console and the HTTP API, and drive runs beside it, until SIGTERM or Ctrl-C."""
        if person is not None and not development:
            raise Refused("usage", problem="--as belongs to --development")
        serving = _serving(host, port, development, person)
        app = invocation.app() if no_worker and invocation.named() is None else invocation.with_code()
        raise typer.Exit(awaited(_serve(invocation, app, serving, with_worker=not no_worker)))


def _serving(host: str, port: int, development: bool, person: str | None) -> "Serving":
    from counterfoil.settings import value_of

    try:
        from counterfoil.console.server import Serving
    except ModuleNotFoundError as problem:
        raise CounterfoilError("tool_missing", tool=str(problem.name), install=INSTALL) from problem
    proxies = tuple(value_of("COUNTERFOIL_TRUSTED_PROXIES").replace(",", " ").split())
    return Serving(host, port, development, person, proxies)


def _suspects(invocation: Invocation, app: "App") -> "Isolate":
    """A run during which its worker died twice is driven in a process of its own: it must not fell the console."""
    from pathlib import Path

    from counterfoil.app.worker_process import WorkerProcesses

    return WorkerProcesses(invocation.named() or "", app.db, Path.cwd()).isolate


async def _serve(invocation: Invocation, app: "App", serving: "Serving", *, with_worker: bool) -> int:
    from counterfoil.app.driving import log_of, problems_of
    from counterfoil.app.logs import what_goes_wrong
    from counterfoil.console.server import serve

    app.open()
    app.access.provider()  # half a setting is told to who starts it, not to the first who signs in
    worker = app.new_worker(isolate=_suspects(invocation, app)) if with_worker else None

    def ready(url: str) -> None:
        # Both lines must arrive while the server lives: a script waits for one of them.
        if invocation.streams.json:
            invocation.streams.say(text_of(success("serve", {"url": url, "pid": os.getpid()})))
        beside = "" if worker is None else f", worker {worker.worker_id}"
        invocation.streams.notes().print(f"serving {url} over {invocation.located().shown}{beside}", soft_wrap=True)

    with what_goes_wrong(invocation.streams.err):
        await serve(app, serving, worker, ready)
    return DEFECT if worker is not None and problems_of(worker, log_of(invocation.located().beside)) else 0
