"""`counterfoil waivers`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of
from counterfoil.cli.tables import table

if TYPE_CHECKING:
    from rich.console import Console

waivers = group("waivers", "Who lets an operation be sent without a drill, and until when.")

Which = Annotated[str, typer.Argument(metavar="OPERATION", help="The operation's name in the code.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; asked for when left out.")]
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="DATE", help="Its last day, a time with an offset, or 4h, 30d; asked for when left out."
    ),
]


def shown(console: "Console", data: Mapping[str, Any]) -> None:
    """Each waiver with its end."""
    rows = [(w["operation"], w["by"], w["until"], w["stands"], w["reason"], w["revoked_by"]) for w in data["items"]]
    table(
        console, ("operation", "by", "until", "stands", "reason", "revoked by"), rows, empty="There never was a waiver."
    )


def shown_one(console: "Console", data: Mapping[str, Any]) -> None:
    """One waiver."""
    shown(console, {"items": [data]})


@waivers.command("add", data="WAIVER", shows=shown_one)
def add(
    invocation: Invocation,
    operation: Which,
    by: Person = None,
    reason: Reason = None,
    until: Until = None,
    secret_file: SecretFile = None,
) -> Any:
    """Let an operation without a review be sent without a drill, for a while. The runs that waited for it are woken."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "Why")
    end = asked(invocation, until, "--until", "Until when")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.drills.waive(operation, by=person, secret=secret, reason=why, until=end))


@waivers.command("list", data="{items:[WAIVER], next_cursor}", shows=shown)
def list_waivers(invocation: Invocation) -> Any:
    """List the newest waiver of each operation, the ended too."""
    return invocation.app().drills.waivers()


@waivers.command("revoke", data="WAIVER", shows=shown_one)
def revoke(invocation: Invocation, operation: Which, by: Person = None, reason: Reason = None) -> Any:
    """From now on the waiver covers nothing. Stopping takes a name and no secret."""
    app = invocation.app()
    app.open()
    why = asked(invocation, reason, "--reason", "Why")
    person = asked(invocation, by, "--by", "Who are you")
    return awaited(app.drills.revoke(operation, by=person, reason=why))
