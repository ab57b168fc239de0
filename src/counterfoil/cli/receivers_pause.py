"""`counterfoil receivers status|pause|resume`: the receivers of your own code, and whether anything is sent there."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of
from counterfoil.cli.tables import fields, sentence, table
from counterfoil.cli.writes import Reason

if TYPE_CHECKING:
    from rich.console import Console

Which = Annotated[str, typer.Argument(metavar="RECEIVER", help="As your code declares it.")]


def status_table(console: "Console", data: Any) -> None:
    """Whether it is paused, how much waits, and what is in doubt."""
    rows = [
        (
            each["receiver"], each["environment"], each["paused"] and each["paused"]["sentence"], each["waiting"],
            each["limits"]["in_use"], each["in_doubt"],
        )
        for each in data["items"]
    ]  # fmt: skip
    columns = ("receiver", "environment", "paused", "runs waiting", "under way", "in doubt")
    table(console, columns, rows, empty="No receiver.")


def one_receiver(console: "Console", data: Any) -> None:
    """Whether it is paused, and how much waits."""
    sentence(console, data["paused"]["sentence"] if data["paused"] else f"Receiver {data['receiver']} is not paused.")
    fields(console, {"runs waiting": data["waiting"], "in doubt": data["in_doubt"]})


def status(invocation: Invocation) -> Any:
    """List the receivers of your code: paused or not, by whom and why, what waits, what is in doubt, how the last day went."""
    return invocation.app().receivers.list()


def pause(invocation: Invocation, receiver: Which, by: Person = None, reason: Reason = None) -> Any:
    """Send nothing there until somebody resumes it; what is meant for it waits and says so. Takes a name and no secret."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "Why")
    return awaited(app.receivers.pause(receiver, by=asked(invocation, by, "--by", "Who are you"), reason=why))


def resume(
    invocation: Invocation, receiver: Which, by: Person = None, reason: Reason = None, secret_file: SecretFile = None
) -> Any:
    """End its pause, a person's or its breaker's. What waits is sent by itself."""
    app = invocation.app()
    app.open()
    why = asked(invocation, reason, "--reason", "Why")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.receivers.resume(receiver, by=person, secret=secret, reason=why))


def add_to(group: Group) -> None:
    """Register the commands."""
    group.command("status", data="{items:[RECEIVER], next_cursor}", shows=status_table)(status)
    group.command("pause", data="RECEIVER", shows=one_receiver)(pause)
    group.command("resume", data="RECEIVER", shows=one_receiver)(resume)
