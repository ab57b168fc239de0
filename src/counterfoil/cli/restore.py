"""`counterfoil restore`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of, with_one_person
from counterfoil.cli.writes import Reason

restore = group(
    "restore", "After a restore, or in a copy opened elsewhere: nothing is sent until a person finishes it."
)


@restore.command("status", data="RESTORE", shows=pages.record)
def status(invocation: Invocation) -> Any:
    """Whether this database was recognised as restored, moved or copied."""
    return invocation.app().restore.status()


@restore.command("begin", data="RESTORE", shows=pages.record)
def begin(invocation: Invocation, by: Person = None, reason: Reason = None) -> Any:
    """Say that this database was restored, where nothing recognised it: sending is suspended. Takes a name and no secret."""
    app = invocation.app()
    app.open(attested=True)
    why = asked(invocation, reason, "--reason", "How do you know")
    person = asked(invocation, by, "--by", "Who are you")
    return awaited(app.restore.begin(by=person, reason=why))


@restore.command("finish", data="RESTORE", shows=pages.record)
def finish(
    invocation: Invocation,
    as_: Annotated[str, typer.Option("--as", metavar="restored|moved|clone", help="What this database is.")],
    by: Person = None,
    reason: Reason = None,
    secret_file: SecretFile = None,
) -> Any:
    """Attest that every sender from before is gone; sending is possible again."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "How do you know")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return with_one_person(invocation, app, awaited(app.restore.finish(as_=as_, by=person, secret=secret, reason=why)))
