"""`counterfoil signals`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.documents import json_of, read_json
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.prompts import asked
from counterfoil.cli.runs import By, Which
from counterfoil.model.errors import Refused

signals = group("signals", "What wakes a run from outside.")


@signals.command("send", data="{run_id, signal_id, name, admitted: new|existing}", shows=pages.record)
def send(
    invocation: Invocation,
    run: Which,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal that the run waits for.")],
    signal_id: Annotated[
        str | None,
        typer.Option("--signal-id", metavar="ID", help="The same id twice is one signal. Left out: asked for."),
    ] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="FILE", help="JSON; - reads standard input. Left out with an id: null.")
    ] = None,
    by: By = None,
) -> Any:
    """Send a signal. It is stored first and matched later."""
    if not name.strip() or (signal_id is not None and not signal_id.strip()):
        raise Refused("usage", problem="a signal has a name and an id")
    # As it is printed for a run that waits, a command names neither: only whoever knows what happened can say it.
    id_ = asked(invocation, signal_id, "--signal-id", "Id of this signal (the same id twice is one signal)")
    if payload is not None:
        content = read_json(payload, what="the payload")
    else:
        content = None if signal_id else json_of(asked(invocation, None, "--payload", "Payload as JSON").encode())
    return awaited(invocation.app().signals.send(run, name, content, signal_id=id_, by=by))
