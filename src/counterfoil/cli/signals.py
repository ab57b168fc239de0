"""`counterfoil signals`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.documents import read_json
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.runs import Which
from counterfoil.model.errors import Refused

signals = group("signals", "What wakes a run from outside.")


@signals.command("send", data="{run_id, signal_id, name, admitted: new|existing}", shows=pages.record)
def send(
    invocation: Invocation,
    run: Which,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal that the run waits for.")],
    signal_id: Annotated[str, typer.Option("--signal-id", metavar="ID", help="The same id twice is one signal.")],
    payload: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON; - reads standard input. Left out: null.")
    ] = None,
) -> Any:
    """Send a signal. It is stored first and matched later."""
    if not name.strip() or not signal_id.strip():
        raise Refused("usage", problem="a signal has a name and an id")
    content = None if payload is None else read_json(payload, what="the payload")
    return awaited(invocation.app().signals.send(run, name, content, signal_id=signal_id))
