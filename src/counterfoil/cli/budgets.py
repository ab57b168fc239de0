"""`counterfoil budgets`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of
from counterfoil.cli.runs import limit_of
from counterfoil.cli.tables import table
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

budgets = group("budgets", "What many runs may use together, and who lets more be used.")

Which = Annotated[
    str, typer.Argument(metavar="BUDGET", help="An id, a unique start of it, a number, or budget-NUMBER.")
]
COLUMNS = ("budget", "name", "of", "limit of", "limit", "used", "reserved", "owner", "waiting")


def shown(console: "Console", data: Mapping[str, Any]) -> None:
    """Each limit on a line of its own."""
    rows = [
        (
            f"budget-{each['number']}", each["name"], f"{each['scope']} {each['key']}",
            line["kind"] + (f" {line['of']}" if line["of"] else ""), line["limit"], line["used"], line["reserved"],
            each["owner"], len(each["waiting"]),
        )
        for each in data["items"]
        for line in each["limits"]
    ]  # fmt: skip
    table(console, COLUMNS, rows, empty="Nothing has drawn on a shared budget yet.")


def shown_one(console: "Console", data: Mapping[str, Any]) -> None:
    """One budget."""
    shown(console, {"items": [data]})


@budgets.command("list", data="{items:[BUDGET], next_cursor}", shows=shown)
def list_budgets(
    invocation: Invocation,
    scope: Annotated[
        str | None, typer.Option(help="conversation, workflow, business_day, operation, or run for the runs' own.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List what was drawn on, the newest first: what is used, held in reserve, and who owns it."""
    return invocation.app().budgets.list(scope=scope, cursor=cursor, limit=limit)


@budgets.command("show", data="BUDGET", shows=shown_one)
def show(invocation: Invocation, budget: Which) -> Any:
    """Show one budget, with the runs that wait for it."""
    return invocation.app().budgets.show(budget)


@budgets.command("raise", data="BUDGET", shows=shown_one)
def lift(
    invocation: Invocation,
    budget: Which,
    raises: Annotated[
        list[str] | None,
        typer.Option(
            "--raise",
            metavar="KIND=N",
            help="A new limit: attempts=N, tokens=N, calls:NAME=N, elapsed=SECONDS, spend=USD. Repeatable.",
        ),
    ] = None,
    by: Person = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; asked for when left out.")] = None,
    secret_file: SecretFile = None,
) -> Any:
    """Let more be used, as its owner. The runs that wait for it go on."""
    limits = dict(limit_of(text) for text in raises or ())
    if not limits:
        raise Refused("usage", problem="name at least one limit: --raise KIND=N")
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "Why")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.budgets.lift(budget, by=person, secret=secret, reason=why, raises=limits))
