"""`counterfoil incidents`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of, with_one_person

incidents = group("incidents", "Where a receiver contradicts the ledger.")


@incidents.command("list", data="{items:[INCIDENT], next_cursor}", shows=pages.incidents)
def list_incidents(
    invocation: Invocation,
    open_only: Annotated[bool, typer.Option("--open", help="Only those that nobody has closed.")] = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List incidents, newest first."""
    return invocation.app().incidents.list(open_only=open_only, cursor=cursor, limit=limit)


@incidents.command("close", data="INCIDENT", shows=pages.incident)
def close(
    invocation: Invocation,
    incident: Annotated[
        str, typer.Argument(metavar="INC", help="An id, a unique start of it, a number, or inc-NUMBER.")
    ],
    by: Person = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="What was found, and put in order.")] = None,
    secret_file: SecretFile = None,
) -> Any:
    """Close an incident: its evidence is weighed, and its business key is free again."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "What was found, and put in order")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return with_one_person(
        invocation, app, awaited(app.incidents.close(incident, by=person, secret=secret, reason=why))
    )
