"""`counterfoil tokens`."""

from datetime import timedelta
from typing import Annotated, Any

import typer

from counterfoil.cli import granting
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.roles import By

tokens = group("tokens", "Personal tokens for programs.")


@tokens.command("list", data="{items:[TOKEN], next_cursor}", shows=granting.tokens)
def list_tokens(
    invocation: Invocation,
    person: Annotated[str | None, typer.Option("--person", metavar="PERSON", help="Those of one person.")] = None,
) -> Any:
    """List tokens, without the tokens themselves."""
    return invocation.app().access.tokens.list(person=person)


@tokens.command("create", data="TOKEN and {token}", shows=granting.created)
def create(
    invocation: Invocation,
    person: Annotated[str, typer.Argument(metavar="PERSON", help="Whose token it is.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What it is for.")],
    days: Annotated[float, typer.Option("--days", metavar="N", min=0, max=366, help="How long it is good for.")] = 90,
    verb: Annotated[
        list[str] | None, typer.Option("--verb", metavar="VERB", help="Good for this act alone. Repeatable.")
    ] = None,
    workflow: Annotated[
        list[str] | None, typer.Option("--workflow", metavar="W", help="Good for this workflow alone. Repeatable.")
    ] = None,
    operation: Annotated[
        list[str] | None, typer.Option("--operation", metavar="NAME", help="Good for this operation alone. Repeatable.")
    ] = None,
    by: By = None,
) -> Any:
    """Create a token. It is shown once, and stored as a digest. It may what its person may, inside its scope."""
    return awaited(
        invocation.app().access.tokens.create(
            person, name=name, expires_in=timedelta(days=days), verbs=verb or None, workflows=workflow or None,
            operations=operation or None, by=by,
        )
    )  # fmt: skip


@tokens.command("revoke", data="TOKEN", shows=granting.token)
def revoke(
    invocation: Invocation,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Its id, or the start of it; never the token.")],
    by: By = None,
) -> Any:
    """From now on the token is good for nothing."""
    return awaited(invocation.app().access.tokens.revoke(token_id, by=by))
