"""`counterfoil receipts`: what receivers send by themselves."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of, with_one_person
from counterfoil.cli.tables import more, next_action, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
receipts = group("receipts", "What receivers send by themselves.")
Which = Annotated[str, typer.Argument(metavar="DELIVERY", help="An id, a unique start of it, a number, or dlv-NUMBER.")]


def deliveries(console: "Console", data: Any) -> None:
    """A list of deliveries."""
    rows = [
        (f"dlv-{i['number']}", i["receiver"], i["type"], i["state"], i["operation_id"], i["received_at"], i["seen"])
        for i in data["items"]
    ]
    names = ("delivery", "receiver", "type", "state", "operation", "received", "came")
    table(console, names, rows, empty="No delivery.")
    more(console, data)


def delivery(console: "Console", data: Any) -> None:
    """One delivery, and what is left to do about it."""
    deliveries(console, {"items": [data]})
    next_action(console, data["next_action"])


@receipts.command("list", data="{items:[DELIVERY], next_cursor}", shows=deliveries)
def list_deliveries(
    invocation: Invocation,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Only those that name nothing of ours, and that nobody has weighed.")
    ] = False,
    receiver: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this receiver.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Any:
    """List what receivers sent to /webhooks/NAME, newest first."""
    return invocation.app().receipts.list(orphans=orphans, receiver=receiver, cursor=cursor, limit=limit)


@receipts.command("show", data="DELIVERY", shows=delivery)
def show(invocation: Invocation, which: Which) -> Any:
    """Show one of them, with its body."""
    return invocation.app().receipts.show(which)


@receipts.command("match", data="DELIVERY", shows=delivery)
def match(invocation: Invocation, which: Which) -> Any:
    """Look for its operation now, as the duty `deliveries` does by itself. Needs the application's code."""
    return awaited(invocation.with_code().receipts.match(which))


@receipts.command("close", data="DELIVERY", shows=delivery)
def close(
    invocation: Invocation,
    which: Which,
    by: Person = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is, and why nothing is to be done.")
    ] = None,
    secret_file: SecretFile = None,
) -> Any:
    """Say that an orphan is nothing of ours: it is weighed, and shown no more."""
    app = invocation.app()
    app.open()  # a database that is not there is refused before anybody is asked
    why = asked(invocation, reason, "--reason", "What it is, and why nothing is to be done")
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return with_one_person(invocation, app, awaited(app.receipts.close(which, by=person, secret=secret, reason=why)))


def sweep_page(console: "Console", data: Any) -> None:
    """What was found, then how far it came."""
    found = [("incident", d) for d in data["duplicates"]] + [("notice", n) for n in data["notices"]]
    rows = [
        (kind, f"op-{d['number']}", d["run_id"], d["receiver"], d["business_key"], d["records"]) for kind, d in found
    ]
    names = ("found", "operation", "run", "receiver", "business key", "records")
    table(console, names, rows, empty="No duplicate.")
    left = " More is to be counted." if data["left"] else ""
    away = f" Out of reach: {', '.join(data['unreachable'])}." if data["unreachable"] else ""
    sentence(console, f"{data['asked']} operations were counted.{left}{away}")


@receipts.command("sweep", data="SWEEP", shows=sweep_page, also=(FOUND,))
def sweep(
    invocation: Invocation,
    receiver: Annotated[str | None, typer.Option(metavar="NAME", help="Only at this receiver.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what was counted before and is not due.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many operations are counted at most.")] = 100,
) -> Any:
    """Count records at receivers now, at the rate of COUNTERFOIL_SWEEP_PER_MINUTE. Status 1 if it opens an incident.

    Nothing is sent. It may be stopped at any time and goes on where it was. Needs the application's code.
    """
    found = awaited(invocation.with_code().receipts.sweep(receiver=receiver, again=again, limit=limit))
    return Answer(found, FOUND if found["duplicates"] else 0)
