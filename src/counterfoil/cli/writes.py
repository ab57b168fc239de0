"""`counterfoil writes`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of

writes = group("writes", "Stop sending, and let it go on.")

Receiver = Annotated[str | None, typer.Option("--receiver", metavar="R", help="Everything to this receiver.")]
Operation = Annotated[str | None, typer.Option("--operation", metavar="OP", help="This operation.")]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; asked for when left out.")]


@writes.command("suspend", data="SUSPENSION", shows=pages.record)
def suspend(
    invocation: Invocation,
    receiver: Receiver = None,
    operation: Operation = None,
    everything: All = False,
    by: Person = None,
    reason: Reason = None,
) -> Any:
    """Send nothing there any more; asking goes on. Stopping takes a name and no secret."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "Why")
    person = asked(invocation, by, "--by", "Who are you")
    return awaited(app.writes.suspend(by=person, reason=why, receiver=receiver, operation=operation, all_=everything))


@writes.command("resume", data="SUSPENSION", shows=pages.record)
def resume(
    invocation: Invocation,
    receiver: Receiver = None,
    operation: Operation = None,
    everything: All = False,
    by: Person = None,
    reason: Reason = None,
    secret_file: SecretFile = None,
) -> Any:
    """Let sending go on. The runs that waited for it are woken."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "Why")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(
        app.writes.resume(by=person, secret=secret, reason=why, receiver=receiver, operation=operation, all_=everything)
    )


@writes.command("status", data="{suspended, restore, items:[SUSPENSION]}", shows=pages.suspensions)
def status(invocation: Invocation) -> Any:
    """What is suspended, and by whom."""
    return invocation.app().writes.status()
