"""`counterfoil report` and `counterfoil reconcile`: money, and a provider's statement."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.amounts import shown_amount
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of
from counterfoil.cli.tables import fields, heading, sentence, table
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

reconcile = group("reconcile", "A provider's statement, held against our record.")
COUNTED = "{count, minor}"
DAY = (
    "{day, zone, begins_at, ends_at, items:[{receiver, operation, currency, "
    f"approved:{COUNTED}, succeeded:{COUNTED}, failed:{COUNTED}, unknown:{COUNTED}}}]}}"
)
FOUND_SOMETHING = 1


def day_shown(console: "Console", data: Mapping[str, Any]) -> None:
    """One line per receiver, operation and currency."""
    heading(console, f"{data['day']} {data['zone']}")
    kinds = ("approved", "succeeded", "failed", "unknown")
    rows = [
        (item["receiver"], item["operation"], *(_counted(item[kind], item["currency"]) for kind in kinds))
        for item in data["items"]
    ]
    table(
        console,
        ("receiver", "operation", *kinds),
        rows,
        empty="Nothing was approved, closed or left in doubt that day.",
    )


def _counted(counted: Mapping[str, Any], currency: str | None) -> str:
    amount = shown_amount({"minor": counted["minor"], "currency": currency})
    return f"{counted['count']}" if amount is None else f"{counted['count']}: {amount}"


def statement_shown(console: "Console", data: Mapping[str, Any]) -> None:
    """What the statement came to, then each list that is not empty."""
    trial = " (nothing was recorded: --dry-run)" if data["dry_run"] else ""
    heading(console, f"{data['file']} against {data['receiver']}{trial}")
    fields(console, {name: data[name] for name in ("lines", "skipped", "matched")})
    for name in ("resolved", "not_resolved", "mismatch", "several", "theirs_not_ours"):
        if data[name]:
            heading(console, name.replace("_", " "))
            rows = [
                (
                    each["line"],
                    each["reference"],
                    shown_amount(each["amount"]),
                    ", ".join(each["operations"]),
                    each["why"],
                )
                for each in data[name]
            ]
            table(console, ("line", "reference", "amount", "operations", "why"), rows, empty="")
    if data["ours_not_theirs"]:
        heading(console, "ours not theirs")
        rows = [
            (f"op-{each['number']}", each["operation"], shown_amount(each["amount"]), each["closed_at"])
            for each in data["ours_not_theirs"]
        ]
        table(console, ("operation", "name", "amount", "closed"), rows, empty="")
    if data["unreadable"]:
        heading(console, "unreadable")
        table(console, ("line", "problem"), [(each["line"], each["problem"]) for each in data["unreadable"]], empty="")
    if data["sound"]:
        sentence(console, "Every line is ours, and everything of ours is there.")


def add_to(root: Group) -> None:
    """Register `report`."""

    @root.command("report", data=DAY, shows=day_shown)
    def report(
        invocation: Invocation,
        day: Annotated[str | None, typer.Option("--day", metavar="D", help="As 2026-11-29; else today.")] = None,
        zone: Annotated[str, typer.Option("--zone", metavar="Z", help="Whose midnights bound the day.")] = "UTC",
    ) -> Any:
        """Per receiver, operation and currency: count and sum of what was approved, succeeded, failed, and is unknown."""
        return invocation.app().money.report(day=day, zone=zone)


@reconcile.command("list", data="{items:[IMPORT], next_cursor}", shows=pages.items)
def list_imports(invocation: Invocation) -> Any:
    """List the statements that were imported, the newest first."""
    return invocation.app().money.imports()


@reconcile.command("import", data="STATEMENT", shows=statement_shown, also=(FOUND_SOMETHING,))
def import_statement(  # noqa: PLR0913 - an option each
    invocation: Invocation,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV with a header, or JSON lines; - reads standard input.")
    ],
    receiver: Annotated[str, typer.Option("--receiver", metavar="R", help="Whose statement it is.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="NAME=COLUMN", help="reference, amount, currency or at, where named otherwise."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="COLUMN=VALUE", help="Lines with this value only, as type=refund."),
    ] = None,
    currency: Annotated[str | None, typer.Option(metavar="CODE", help="Where no column holds it.")] = None,
    minor: Annotated[bool, typer.Option("--minor", help="Amounts are in minor units, as cents.")] = False,
    negative: Annotated[
        bool, typer.Option("--negative", help="What we sent is written below zero; what is above is not ours.")
    ] = False,
    within_hours: Annotated[
        float, typer.Option(min=0, max=24 * 366, metavar="H", help="How long after a send a line may still be it.")
    ] = 24,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be recorded, and record nothing.")] = False,
    by: Person = None,
    secret_file: SecretFile = None,
) -> Any:
    """Resolve what a provider's statement proves, and list what differs. Exit 1 when something does."""
    from pathlib import Path

    from counterfoil.cli.documents import read_bytes
    from counterfoil.rules.statement_lines import NAMES, Reading

    columns = _pairs("--column", column)
    if unknown := sorted(columns.keys() - set(NAMES)):
        raise Refused("usage", problem=f"--column names {unknown[0]!r}; there are {', '.join(NAMES)}")
    reading = Reading(columns, minor, currency, negative, _pairs("--only", only))
    content = read_bytes(file, what="the statement")
    app = invocation.app()
    app.money.imports()  # a database that is not there is refused before anybody is asked
    person = asked(invocation, by, "--by", "Who are you")
    held = awaited(
        app.money.reconcile(
            content, name="standard input" if file == "-" else Path(file).name, receiver=receiver, by=person,
            secret=secret_of(invocation, person, secret_file), reading=reading, within=timedelta(hours=within_hours),
            dry_run=dry_run,
        )
    )  # fmt: skip
    return Answer(held, 0 if held["sound"] else FOUND_SOMETHING)


def _pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    found = [each.partition("=") for each in given or ()]
    if wrong := [name for name, equals, value in found if not (name.strip() and equals and value.strip())]:
        raise Refused("usage", problem=f"{option} {wrong[0]!r} is not NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in found}
