"""`counterfoil database`: what is done to the server that holds the ledger."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import group
from counterfoil.cli.invocation import Invocation

if TYPE_CHECKING:
    from rich.console import Console

database = group("database", "The server that holds the ledger.")
ROLES = "{schema, worker, console, statements, applied}"


def statements(console: "Console", data: Any) -> None:
    """The SQL as it is, so that it can be given to psql."""
    console.print(data["statements"], markup=False, highlight=False, soft_wrap=True)


@database.command("roles", data=ROLES, shows=statements)
def roles(
    invocation: Invocation,
    worker: Annotated[str, typer.Option("--worker", metavar="NAME", help="The role that workers connect as.")],
    console: Annotated[
        str, typer.Option("--console", metavar="NAME", help="The role of `serve` and of people's commands.")
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Do it, as the role of --db, which owns the ledger.")] = False,
) -> Any:
    """Print the SQL that lets workers drive runs and write no answer. PostgreSQL refuses them one, whatever their code does.

    It makes the two roles where they are missing, without a password. Run it again after an update.
    """
    from counterfoil.app.database_roles import database_roles

    return database_roles(invocation.located(), worker, console, apply=apply)
