"""`counterfoil keys`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of

keys = group("keys", "The keys that approvals are signed with.")


@keys.command("list", data="{items:[KEY], next_cursor}", shows=pages.items)
def list_keys(invocation: Invocation) -> Any:
    """List the approval keys, the oldest first, and which of them count."""
    return invocation.app().keys.list()


@keys.command("add", data="KEY and {private_file}", shows=pages.record)
def add(
    invocation: Invocation,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Where the private half is; made when it is not there."),
    ] = None,
    public_key: Annotated[
        str | None, typer.Option("--public-key", metavar="HEX", help="The public half of a key that is elsewhere.")
    ] = None,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Register a key, signed by the one in use. To rotate: add, name the new file in COUNTERFOIL_APPROVAL_KEY, revoke the old."""
    app = invocation.app()
    app.keys.list()  # a database that is not there is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.keys.add(by=person, secret=secret, file=file, public_key=public_key))


@keys.command("revoke", data="KEY", shows=pages.record)
def revoke(
    invocation: Invocation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its id, or a start of it.")],
    by: Person = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Kept with the entry.")] = "",
    secret_file: SecretFile = None,
) -> Any:
    """Approvals signed by this key no longer count, also those given already and not used."""
    app = invocation.app()
    app.keys.list()
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.keys.revoke(key, by=person, secret=secret, reason=reason))
