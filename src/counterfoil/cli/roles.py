"""`counterfoil roles`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import granting
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import LARGEST, group
from counterfoil.cli.invocation import Invocation

roles = group("roles", "What roles may do.")

By = Annotated[
    str | None,
    typer.Option("--by", metavar="PERSON", help="Who acts; without it whoever may write the database's file."),
]


@roles.command("list", data="{items:[ROLE], next_cursor}", shows=granting.roles)
def list_roles(invocation: Invocation) -> Any:
    """List the roles, who holds them, and what was granted to them."""
    return invocation.app().access.grants.list()


@roles.command("grant", data="GRANT", shows=granting.grant)
def grant(  # noqa: PLR0913 - the parts of a grant
    invocation: Invocation,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role, or a person's name.")],
    verb: Annotated[
        str, typer.Argument(metavar="VERB", help="read, submit, answer, resolve, ...; docs/access.md lists all.")
    ],
    workflow: Annotated[str | None, typer.Option("--workflow", metavar="W", help="Of this workflow alone.")] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="NAME", help="Of this operation alone.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Of read: this kind of record alone.")
    ] = None,
    up_to: Annotated[
        int | None,
        typer.Option("--up-to", metavar="MINOR", min=0, max=LARGEST, help="Up to this amount, in the smallest unit."),
    ] = None,
    currency: Annotated[str | None, typer.Option("--currency", metavar="CODE", help="Of the amount.")] = None,
    by: By = None,
) -> Any:
    """Give a role one right. From the first grant on, only its grants count for the role."""
    grants = invocation.app().access.grants
    return awaited(
        grants.grant(
            role, verb, workflow=workflow, operation=operation, kind=kind, up_to_minor=up_to, currency=currency, by=by
        )
    )


@roles.command("withdraw", data="GRANT", shows=granting.grant)
def withdraw(
    invocation: Invocation,
    grant_id: Annotated[str, typer.Argument(metavar="GRANT", help="Its id, or the start of it.")],
    by: By = None,
) -> Any:
    """Take a right back. A role whose last grant is withdrawn may nothing."""
    return awaited(invocation.app().access.grants.withdraw(grant_id, by=by))
