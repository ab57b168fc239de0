"""`counterfoil operations`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import LARGEST, Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.prompts import asked, asked_evidence, secret_of, with_one_person

operations = group("operations", "What was written to receivers, and what is in doubt.")

Which = Annotated[str, typer.Argument(metavar="OP", help="An id, a unique start of it, a number, or op-NUMBER.")]
Person = Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Who decides; asked for when left out.")]
SecretFile = Annotated[
    Path | None,
    typer.Option("--secret-file", metavar="FILE", help="Holds the secret; else COUNTERFOIL_SECRET, else a prompt."),
]


@operations.command("list", data="{items:[OPERATION], next_cursor}", shows=pages.operations)
def list_operations(
    invocation: Invocation,
    status: Annotated[str | None, typer.Option(help="prepared, in_flight, succeeded, failed, unknown.")] = None,
    receiver: Annotated[str | None, typer.Option(help="At this receiver only.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List operations, newest first."""
    return invocation.app().operations.list(status=status, receiver=receiver, cursor=cursor, limit=limit)


@operations.command("show", data="OPERATION", shows=pages.operation)
def show(invocation: Invocation, operation: Which) -> Any:
    """Show an operation: attempts, receipts, approval, and what may happen next."""
    return invocation.app().operations.show(operation)


@operations.command("lookup", data="OPERATION", shows=pages.operation)
def lookup(
    invocation: Invocation,
    operation: Which,
    by: Annotated[str | None, typer.Option("--by", metavar="PERSON", help="Who does this; it is recorded.")] = None,
) -> Any:
    """Ask the receiver about an operation now. Needs the application's code."""
    return awaited(invocation.with_code().operations.lookup(operation, by=by))


@operations.command("resolve", data="OPERATION", shows=pages.operation)
def resolve(  # noqa: PLR0913 - each is an option of the command
    invocation: Invocation,
    operation: Which,
    as_: Annotated[
        str, typer.Option("--as", metavar="succeeded|failed|send-again", help="What happened, or what to do.")
    ],
    expect_version: Annotated[
        int,
        typer.Option(
            "--expect-version", min=0, max=LARGEST, help="The version that you have seen; refused if it moved."
        ),
    ],
    new_key: Annotated[
        bool, typer.Option("--new-key", help="With send-again: under a new key; old keys stay watched.")
    ] = False,
    reference: Annotated[str | None, typer.Option(metavar="R", help="The receiver's own reference.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why you are sure.")] = None,
    evidence: Annotated[
        str | None, typer.Option(metavar="FILE", help="Kept with the resolution; - reads standard input.")
    ] = None,
    evidence_text: Annotated[str | None, typer.Option(metavar="TEXT", help="What you saw, in place of a file.")] = None,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Close a doubt, with a reason and evidence. What you leave out is asked for."""
    app = invocation.app()
    app.operations.show(operation)  # an unknown one is refused before anybody is asked
    if as_ == "succeeded":
        reference = asked(invocation, reference, "--reference", "The receiver's reference")
    why = asked(invocation, reason, "--reason", "Why are you sure")
    content, name = asked_evidence(invocation, evidence, evidence_text)
    person = asked(invocation, by, "--by", "Who are you")
    resolved = awaited(
        app.operations.resolve(
            operation, as_=as_, by=person, secret=secret_of(invocation, person, secret_file), reason=why, evidence=content,
            evidence_name=name, expect_version=expect_version, reference=reference, new_key=new_key,
        )
    )  # fmt: skip
    return with_one_person(invocation, app, resolved)
