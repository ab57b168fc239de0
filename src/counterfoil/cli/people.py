"""`counterfoil people`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import SecretFile
from counterfoil.cli.prompts import new_secret
from counterfoil.cli.runs import By

people = group("people", "Who may decide.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")]


@people.command("add", data="PERSON", shows=pages.person)
def add(
    invocation: Invocation,
    name: Name,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A role this person holds. Repeatable.")
    ] = None,
    stand_in_for: Annotated[
        str | None, typer.Option(metavar="PERSON", help="Whose roles this person holds, too.")
    ] = None,
    by: By = None,
    secret_file: SecretFile = None,
) -> Any:
    """Add a person. The secret is stored as a hash."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    secret = new_secret(invocation, name, secret_file)
    return awaited(app.people.add(name, roles=role or (), secret=secret, stand_in_for=stand_in_for, by=by))


@people.command("list", data="{items:[PERSON], next_cursor}", shows=pages.people)
def list_people(invocation: Invocation) -> Any:
    """List everybody."""
    return invocation.app().people.list()


@people.command("revoke", data="PERSON", shows=pages.person)
def revoke(invocation: Invocation, name: Name, by: By = None) -> Any:
    """From now on this person decides nothing, and approvals that were not used no longer count."""
    return awaited(invocation.app().people.revoke(name, by=by))
